"""What Kueue v0.19.0's own scheduler decides, step by step, where nothing else was recorded.

``usage``: LocalQueues of a ClusterQueue have used different amounts, which stand still: half of
them is forgotten in 285 years. ``topologies``: pods are placed on nodes of several levels.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.play import play
from tests.differential.scenarios import Scenario, read

RECORDED = sorted((Path(__file__).parent / "played").glob("*/*.json"))


@pytest.fixture(params=RECORDED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def scenario(request: pytest.FixtureRequest) -> Scenario:
    path: Path = request.param
    return read(path, path.parent.name)


def test_the_same_is_decided_step_by_step(scenario: Scenario) -> None:
    verdict = play(scenario, "kueue")
    assert {kind: names for kind, names in verdict.differences.items() if names} == {}


@pytest.mark.parametrize("kind", ["usage", "topologies"])
def test_there_is_something_recorded(kind: str) -> None:
    assert len([path for path in RECORDED if path.parent.name == kind]) > 3
