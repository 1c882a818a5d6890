"""Whatever befalls a cluster, a placed Job runs in at most one, and no copy is left behind."""

from __future__ import annotations

import pytest

from tests.simulation import small_worlds
from tests.simulation.members.placing import PlacingSite

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 30))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_placed_job_runs_in_one_cluster_and_all_ends(seed: int) -> None:
    site = small_worlds.live(PlacingSite, seed)
    assert site.placed > 0
