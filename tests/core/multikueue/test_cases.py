"""Each case of ``cases``: what happens line by line, and what is decided then.

Source: multikueue.md 5.4, by the numbers in the names.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.core.multikueue.stage import Stage
from tidegate.model.multikueue import MultiKueuePolicy

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


class Case(msgspec.Struct, forbid_unknown_fields=True):
    """One file: the policy, the clusters of the check, and lines with what follows from each."""

    steps: list[dict[str, list[str]]]
    clusters: tuple[str, ...] = ("w1", "w2")
    policy: MultiKueuePolicy = MultiKueuePolicy()
    second: bool = False  # another check as well
    gates: dict[str, bool] = {}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case(path: Path) -> None:
    case = msgspec.yaml.decode(path.read_text(), type=Case)
    kinds = case.policy.kinds or ("batch/job",)
    policy = msgspec.structs.replace(case.policy, kinds=kinds)
    stage = Stage(policy, case.clusters, second=case.second, gates=case.gates)
    for number, step in enumerate(case.steps, 1):
        [(line, expected)] = step.items()
        assert stage.do(line) == expected, f"step {number}: {line}"


def test_there_are_cases() -> None:
    assert len(CASES) >= 20
