"""Where many wait for one amount it is decided the same, however little is looked at."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.core import crowd_judge
from tests.core.judge import fast, in_turns, slow
from tidegate.core.cycle import cycle
from tidegate.core.nomination.ahead import First, nearest
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.state.cluster_queues import ClusterQueueState

SEEDS = (1, 2, 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_every_head_in_every_cycle_decides_the_same(seed: int) -> None:
    assert crowd_judge.journal(seed, fast) == crowd_judge.journal(seed, slow)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_new_leader_after_each_decision_changes_none(seed: int) -> None:
    assert crowd_judge.journal(seed, fast) == crowd_judge.journal(seed, in_turns(1))


def test_heads_are_known_from_amounts_alone() -> None:
    heads: list[First] = []

    def counted(context: DecideContext, cq: ClusterQueueState) -> First | None:
        head = nearest(context, cq)
        if head is not None:
            heads.append(head)
        return head

    with patch.object(cycle, "nearest", counted):
        for seed in SEEDS:
            crowd_judge.journal(seed, fast)
    assert len(heads) > 20, "else what is judged here is another way"
