"""However it is decided, the same is decided where jobs are placed: ``placed_judge``."""

from __future__ import annotations

import pytest

from tests.core.judge import fast, in_turns, slow
from tests.core.placed_judge import journal

SEEDS = (0, 1, 8)


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_every_head_in_every_cycle_decides_the_same(seed: int) -> None:
    assert journal(seed, fast) == journal(seed, slow)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_size_of_a_turn_and_a_new_leader_change_no_decision(seed: int) -> None:
    assert journal(seed, fast) == journal(seed, in_turns(2))


def test_copies_are_made_and_removed_and_jobs_preempted_for_others() -> None:
    text = b"".join(part for seed in SEEDS for part in journal(seed, fast))
    for kind in ("CopyOrdered", "CopyRemovalOrdered", "WorkloadPreempted", "HomeGone"):
        assert b'"type":"%s/1"' % kind.encode() in text
    assert b'"reason":"NameTaken"' in text


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_it_holds_for_hundreds_of_scenarios() -> None:
    wrong = [seed for seed in range(2_000, 2_300) if journal(seed, fast) != journal(seed, slow)]
    assert wrong == []
