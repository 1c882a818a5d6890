"""However it is decided, the same is decided where nodes matter, too: see ``judged``."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.core.judge import fast, in_turns, slow
from tests.core.topology.judged import journal

SEEDS = (0, 1, 7, 234)
BESIDE = 691
"""There a tree changes while others of the same nodes are served."""


@pytest.mark.parametrize("seed", [*SEEDS, BESIDE])
def test_looking_at_every_head_in_every_cycle_places_the_same(seed: int) -> None:
    assert journal(seed, fast) == journal(seed, slow)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_size_of_a_turn_and_a_new_leader_change_no_placement(seed: int) -> None:
    assert journal(seed, fast) == journal(seed, in_turns(3))


@pytest.mark.parametrize("seed", SEEDS)
def test_how_many_shapes_of_requests_are_remembered_changes_no_placement(seed: int) -> None:
    with patch.multiple("tidegate.core.topology.place", SHAPES_MIN=1, DOMAINS_MAX=0):
        forgetful = journal(seed, fast)
    assert forgetful == journal(seed, fast)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_it_holds_for_hundreds_of_scenarios() -> None:
    wrong = [seed for seed in range(300, 700) if journal(seed, fast) != journal(seed, slow)]
    assert wrong == []
