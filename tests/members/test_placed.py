"""A Job that is made in east and runs in west: seen in east, once, though west is cut off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.members.leaves import HUB
from tests.members.stage import (
    JOBS,
    KUEUE,
    NAMESPACE,
    QUEUE,
    Object,
    World,
    change,
    hub_and_members,
    is_complete,
    listed,
    send,
)
from tidegate.kinds import names

pytestmark = [pytest.mark.real, pytest.mark.slow]
QUEUES = f"{KUEUE}/namespaces/{NAMESPACE}/localqueues"
PATIENCE_S = 120.0


async def place(world: World) -> None:
    """Let jobs of the queue run in any cluster, and let west's namespace take them."""
    placed = {"metadata": {"annotations": {names.PLACEMENT: "any"}}}
    await change(world.apis[HUB], f"{QUEUES}/{QUEUE}", placed)
    local: Object = {"apiVersion": KUEUE.removeprefix("/apis/"), "kind": "LocalQueue"}
    meta = {"name": QUEUE, **placed["metadata"]}
    await send(
        world.apis["east"], QUEUES, local | {"metadata": meta, "spec": {"clusterQueue": QUEUE}}
    )
    accepts = {"metadata": {"labels": {names.ACCEPTS_PLACED: "true"}}}
    await change(world.apis["west"], f"/api/v1/namespaces/{NAMESPACE}", accepts)


async def until(world: World, cluster: str, name: str, what: str) -> Object:
    """Wait until a Job of a cluster runs or is complete, and return it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = {one["metadata"]["name"]: one for one in await world.jobs(cluster)}
            job = found.get(name)
            if job is not None and (is_complete(job) or (what == "runs" and is_active(job))):
                return job
            await asyncio.sleep(0.3)


def is_active(job: Object) -> bool:
    return bool(job.get("status", {}).get("active"))


async def until_gone(world: World, cluster: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await listed(world.apis[cluster], JOBS):
            await asyncio.sleep(0.3)


async def test_a_job_of_east_runs_in_west_and_is_seen_in_east(tmp_path: Path) -> None:
    async with hub_and_members(tmp_path) as world:
        await place(world)
        await world.submit("east", "train", 12)
        here = await until(world, "east", "train", "runs")
        assert here["spec"]["suspend"]
        assert here["spec"]["managedBy"] == names.PLACED
        copy = await until(world, "west", "train", "runs")
        marks = copy["metadata"]["annotations"]
        assert marks[names.ORIGIN] == f"{here['metadata']['uid']}@east"
        world.servers.kill("west")
        await asyncio.sleep(8)
        world.servers.start("west")
        ended = await until(world, "east", "train", "complete")
        assert ended["status"]["succeeded"] == 1
        await until_gone(world, "west")
        assert await world.pods("east") == {}
        assert [is_complete(job) for job in await world.jobs("east")] == [True]
        assert world.most["west"] <= 1
        assert await world.jobs(HUB) == []
        assert world.highest() == {"west": 1}
