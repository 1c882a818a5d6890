"""A hub and two leaves: one is cut off and comes back, and no job runs twice or above quota."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.members.leaves import HUB
from tests.members.stage import MEMBERS, QUOTA, World, hub_and_members

pytestmark = pytest.mark.real
CLUSTERS = (HUB, *MEMBERS)
PATIENCE_S = 300.0


async def lives_through_a_cut(world: World, jobs: int, away_s: float, seconds: float) -> None:
    """Submit Jobs everywhere, cut east off for a while, and let all come to their ends."""
    for number in range(jobs):
        for cluster in CLUSTERS:
            await world.submit(cluster, f"job-{number}", seconds)
    await world.until_completed(dict.fromkeys(CLUSTERS, 2), PATIENCE_S)
    world.servers.kill("east")
    before = await world.completed("west")
    await asyncio.sleep(away_s)
    assert await world.completed("west") > before, "the others go on"
    assert await world.completed("east") < jobs, "it was cut off while it had Jobs"
    world.servers.start("east")
    await world.until_completed(dict.fromkeys(CLUSTERS, jobs), PATIENCE_S + jobs * seconds)
    for cluster in CLUSTERS:
        assert set((await world.pods(cluster)).values()) == {1}, f"a Job ran twice in {cluster}"
        assert world.most[cluster] <= QUOTA
    assert world.highest() == dict.fromkeys(CLUSTERS, QUOTA)


@pytest.mark.slow
async def test_a_leaf_is_cut_off_for_seconds_and_back(tmp_path: Path) -> None:
    async with hub_and_members(tmp_path) as world:
        await lives_through_a_cut(world, jobs=14, away_s=8, seconds=2)


@pytest.mark.slow
async def test_a_leaf_is_cut_off_for_a_minute_and_back_among_500_jobs(tmp_path: Path) -> None:
    async with hub_and_members(tmp_path) as world:
        await lives_through_a_cut(world, jobs=167, away_s=60, seconds=2)
