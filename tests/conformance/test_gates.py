"""A feature gate open and closed: two cases each, in which Kueue decides otherwise.

Each pair has the same input, put together by chance from the recorded cases and played by Kueue
0.19.1. A name says the gate, the number of the pair, and whether the gate is open.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.__main__ import failures
from tests.conformance.cases import Case, suites
from tests.conformance.suites.registry import judge
from tidegate.model.gates import HEEDED

SUITES: dict[str, list[Case]] = dict(suites(Path(__file__).parent / "gates"))
PAIRS = [
    (case, other)
    for cases in SUITES.values()
    for case in cases
    for other in cases
    if case.id.endswith("-true") and other.id == case.id.removesuffix("true") + "false"
]


@pytest.mark.parametrize("suite", SUITES)
def test_a_gate_decides_as_kueue_was_seen_to(suite: str) -> None:
    outcome = judge(suite, "kueue").judge(suite, SUITES[suite])
    assert not outcome.failed, failures(outcome)
    assert len(outcome.passed) == len(SUITES[suite])


@pytest.mark.parametrize(("opened", "closed"), PAIRS, ids=lambda case: case.id)
def test_a_pair_differs_by_its_gate_alone(opened: Case, closed: Case) -> None:
    gate = opened.id.partition("/")[2].partition("-")[0]
    assert gate in HEEDED
    assert {**closed.gates, gate: True} == opened.gates
    assert not closed.gates[gate]
    assert opened.input == closed.input
    assert opened.expected != closed.expected


def test_each_case_is_of_a_pair() -> None:
    assert 2 * len(PAIRS) == sum(map(len, SUITES.values())) > 0
