"""However it is decided, the same is decided where LocalQueues' usage counts: ``usage_judge``."""

from __future__ import annotations

import pytest

from tests.core.judge import fast, in_turns, slow
from tests.core.usage_judge import journal

SEEDS = (1, 2, 1_018)
"""In 1018 the LocalQueue that used less changes while equal workloads of both are set aside."""


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_every_head_in_every_cycle_decides_the_same(seed: int) -> None:
    assert journal(seed, fast) == journal(seed, slow)


@pytest.mark.parametrize("mode", ["tidegate", "kueue"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_size_of_a_turn_and_a_new_leader_change_no_decision(seed: int, mode: str) -> None:
    assert journal(seed, fast, mode) == journal(seed, in_turns(2), mode)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_it_holds_for_hundreds_of_scenarios() -> None:
    wrong = [seed for seed in range(2_000, 2_500) if journal(seed, fast) != journal(seed, slow)]
    assert wrong == []
