"""Where many wait for one amount it is decided the same, however little is looked at."""

from __future__ import annotations

import pytest

from tests.core import crowd_judge
from tests.core.judge import fast, in_turns, slow

SEEDS = (1, 2, 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_every_head_in_every_cycle_decides_the_same(seed: int) -> None:
    assert crowd_judge.journal(seed, fast) == crowd_judge.journal(seed, slow)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_new_leader_after_each_decision_changes_none(seed: int) -> None:
    assert crowd_judge.journal(seed, fast) == crowd_judge.journal(seed, in_turns(1))
