"""Whatever befalls two partitions, one decides about each tree and all ends where trees move to."""

from __future__ import annotations

import pytest

from tests.simulation.partitions.__main__ import live
from tests.simulation.partitions.site import NOMINAL_MILLI

SHOWN_LATE = 8
"""A seed in whose world a list leaves open how a job of a tree is that was just taken."""
LONG = (SHOWN_LATE, *(seed for seed in range(1, 40) if seed != SHOWN_LATE))
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in LONG)]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_tree_is_one_partition_s_and_all_ends(seed: int) -> None:
    site = live(seed)
    assert site.trees.moves > 0
    assert site.highest >= NOMINAL_MILLI
    assert {number for number, _ in site.trees.orders.values()} == {0, 1}
