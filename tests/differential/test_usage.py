"""What Kueue decides where LocalQueues of a ClusterQueue have used different amounts.

Played by Kueue v0.19.0's own scheduler. Usage stands still: half of it is forgotten in 285 years.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.play import play
from tests.differential.scenarios import Scenario, read

RECORDED = sorted((Path(__file__).parent / "usage").glob("*.json"))


@pytest.fixture(params=RECORDED, ids=lambda path: path.stem)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    path: Path = request.param
    return read(path, "usage")


def test_the_same_is_decided_step_by_step(scenario: Scenario) -> None:
    verdict = play(scenario, "kueue")
    assert {kind: told for kind, told in verdict.differences.items() if told} == {}


def test_there_is_something_recorded() -> None:
    assert len(RECORDED) > 3
