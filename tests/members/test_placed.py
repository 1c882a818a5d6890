"""A Job that is made in east and runs in west: seen in east, once, though west is cut off.

By embedded API servers and by real ones, on a hub's bus with two leaf nodes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.members.leaves import HUB
from tests.members.placed import Jobs, place, pods_seen, until_heard, until_no_bodies, until_waits
from tests.members.planes import SERVERS
from tests.members.stage import QUOTA, Server, World, hub_and_members, is_complete
from tidegate.kinds import names

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(900)]


async def runs_elsewhere(world: World, jobs: Jobs) -> None:
    """Submit a Job in east: it runs in west, and the Job in east shows that."""
    await world.submit("east", "train", 12)
    here = await jobs.runs("east", "train")
    assert (here["spec"]["suspend"], here["spec"]["managedBy"]) == (True, names.PLACED)
    copy = await jobs.runs("west", "train")
    marks = copy["metadata"]["annotations"]
    assert marks[names.ORIGIN] == f"{here['metadata']['uid']}@east"


async def lives_through_a_cut(world: World, jobs: Jobs) -> None:
    """Cut west off while the Job runs there: it ends there, and the next one waits until west."""
    world.servers.kill("west")
    await jobs.completes("west", "train")
    await until_heard(world, "west", heard=False)
    await world.submit("east", "next", 2)
    await until_waits(world, "next", "NoClusterAccepts")
    assert not is_complete(await jobs.until("east", "train", bool, "it is there"))
    world.servers.start("west")
    await until_heard(world, "west", heard=True)
    for name in ("train", "next"):
        ended = await jobs.completes("east", name)
        assert ended["status"]["succeeded"] == 1
    await jobs.gone("west")


@pytest.mark.parametrize("server", SERVERS)
async def test_a_job_of_east_runs_in_west_and_is_seen_in_east(
    tmp_path: Path, server: Server
) -> None:
    async with hub_and_members(tmp_path, server=server) as world:
        jobs = Jobs(world)
        await place(world)
        async with pods_seen(world) as pods:
            await runs_elsewhere(world, jobs)
            await lives_through_a_cut(world, jobs)
            await world.submit("east", "gone", 600)
            await jobs.runs("west", "gone")
            await jobs.delete("east", "gone")
            await jobs.gone("west")
        await until_no_bodies(world, "east")
        assert await jobs.read("east", "gone") is None
        ran = {name: [cluster for cluster, _ in pairs] for name, pairs in pods.items()}
        assert ran == {name: ["west"] for name in ("train", "next", "gone")}
        assert await world.jobs(HUB) == []
        assert set(highest := world.highest()) == {"west"}
        assert highest["west"] <= QUOTA
