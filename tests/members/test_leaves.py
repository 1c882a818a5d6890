"""A hub and two leaves: one is cut off and comes back, and no job runs twice or above quota.

By embedded API servers and by real ones.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.members.leaves import HUB
from tests.members.placed import pods_seen
from tests.members.planes import SERVERS
from tests.members.stage import MEMBERS, QUOTA, Server, World, hub_and_members

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(1_500)]
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
        assert world.most[cluster] <= QUOTA
    assert world.highest() == dict.fromkeys(CLUSTERS, QUOTA)


async def all_run_once(world: World, jobs: int, away_s: float) -> None:
    """Live through a cut of so many seconds; each Job of each cluster has one pod, ever."""
    async with pods_seen(world) as pods:
        await lives_through_a_cut(world, jobs, away_s, seconds=2)
    assert len(pods) == jobs
    for name, seen in pods.items():
        clusters = [cluster for cluster, _ in seen]
        assert sorted(clusters) == sorted(CLUSTERS), f"{name} had pods in {clusters}"


@pytest.mark.parametrize("server", SERVERS)
async def test_a_leaf_is_cut_off_for_seconds_and_back(tmp_path: Path, server: Server) -> None:
    async with hub_and_members(tmp_path, server=server) as world:
        await all_run_once(world, jobs=14, away_s=8)


@pytest.mark.parametrize("server", SERVERS)
async def test_a_leaf_is_cut_off_for_a_minute_and_back_among_500_jobs(
    tmp_path: Path, server: Server
) -> None:
    async with hub_and_members(tmp_path, server=server) as world:
        await all_run_once(world, jobs=167, away_s=60)
