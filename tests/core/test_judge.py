"""However it is decided, the same is decided: see ``tests.core.judge``."""

from __future__ import annotations

import pytest

from tests.core.judge import fast, in_turns, journal, slow

SEEDS = (*range(6), 1_125)


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_every_head_in_every_cycle_decides_the_same(seed: int) -> None:
    assert journal(seed, fast) == journal(seed, slow)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("decisions_max", [1, 5])
def test_the_size_of_a_turn_and_a_new_leader_change_no_decision(
    seed: int, decisions_max: int
) -> None:
    assert journal(seed, fast) == journal(seed, in_turns(decisions_max))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("decisions_max", [1, 5])
def test_the_size_of_a_turn_changes_nothing_by_rules_of_kueue_either(
    seed: int, decisions_max: int
) -> None:
    assert journal(seed, fast, "kueue") == journal(seed, in_turns(decisions_max), "kueue")


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_it_holds_for_thousands_of_scenarios() -> None:
    wrong = [seed for seed in range(100, 2_100) if journal(seed, fast) != journal(seed, slow)]
    assert wrong == []
