"""Every recorded scenario, livelocks among them, is put to the core as ``python -m`` does."""

from __future__ import annotations

import pytest

from tests.conformance.report import tell
from tests.differential.judge import judge
from tests.differential.random_scenarios import scenario, try_seeds
from tests.differential.scenarios import DATA, MORE, Scenario, classes

CLASSES: dict[str, list[Scenario]] = dict(classes(DATA))
MORE_CLASSES: dict[str, list[Scenario]] = dict(classes(MORE))


@pytest.mark.parametrize("name", CLASSES)
def test_a_scenario_goes_as_kueue_was_seen_to_and_ends_where_kueue_does_not(name: str) -> None:
    outcome = judge(None).judge(name, CLASSES[name])
    assert not outcome.failed, "\n".join(tell([outcome], verbose=False))


@pytest.mark.parametrize("name", MORE_CLASSES)
def test_a_scenario_of_other_seeds_goes_as_kueue_was_seen_to(name: str) -> None:
    outcome = judge(None).judge(name, MORE_CLASSES[name])
    assert not outcome.failed, "\n".join(tell([outcome], verbose=False))


def test_all_scenarios_are_there() -> None:
    counts = {name: len(scenarios) for name, scenarios in CLASSES.items()}
    assert counts.pop("livelocks") == 48
    assert sorted(counts.values()) == [25] * 8
    assert sum(len(scenarios) for scenarios in MORE_CLASSES.values()) == 234


def test_no_random_scenario_runs_in_circles() -> None:
    outcome = try_seeds(0, 200, "tidegate")
    assert not outcome.failed, "\n".join(tell([outcome], verbose=False))


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_no_random_scenario_of_ten_thousand_runs_in_circles() -> None:
    outcome = try_seeds(0, 10_000, "tidegate")
    assert not outcome.failed, "\n".join(tell([outcome], verbose=False))


def test_a_seed_gives_the_same_scenario_every_time() -> None:
    assert scenario(7) == scenario(7)
    assert scenario(7) != scenario(8)
