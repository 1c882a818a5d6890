"""Parts of the manager that end midway, and rounds of nomination."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from tests.multikueue.sites import until
from tests.multikueue.world import POLICY, SENT, WORKLOADS, World, job
from tests.parts.stage import JOBS, alongside
from tests.parts.virtual import run_virtually


@asynccontextmanager
async def watched(world: World, path: str = JOBS) -> AsyncGenerator[None]:
    """Object to a job that two workers have at once."""

    async def look() -> None:
        while True:
            having = [name for name, one in world.workers.items() if one.items(path)]
            assert len(having) <= 1, having
            await asyncio.sleep(0.2)

    async with alongside(look()) as looking:
        yield
        assert not looking.done(), looking.exception()


def test_every_service_of_the_manager_may_end_midway() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        manager = world.manager
        async with (
            alongside(world.workers["w1"].run()),
            alongside(world.workers["w2"].run()),
            alongside(manager.machinery.run()),
            watched(world),
        ):
            manager.stage.make(JOBS, job("train", 300))
            for pause in (0.7, 1.3, 2.1, 3.4, 5.5, 8.9, 20.0, 3_000.0):
                async with (
                    alongside(manager.schedule()),
                    alongside(manager.ingest()),
                    alongside(manager.actuate()),
                    alongside(manager.dispatch()),
                ):
                    await asyncio.sleep(min(pause, 60.0))
                    if pause > 60.0:
                        await until(lambda: world.holds("Finished"), "it is finished")
                        await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


def test_the_second_cluster_is_asked_after_five_minutes() -> None:
    async def live() -> None:
        sent = replace(SENT, dispatcher="Incremental", step=1)
        world = World(replace(POLICY, multikueue=sent), quotas=("1", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 30, cpu="3"))
            await until(lambda: world.status().get("nominatedClusterNames") == ["w1"], "one")
            await asyncio.sleep(280)
            assert world.status()["nominatedClusterNames"] == ["w1"]
            assert not world.workers["w2"].items(WORKLOADS)
            await until(lambda: world.status().get("clusterName") == "w2", "the other runs it")
            await until(lambda: world.holds("Finished"), "it is finished")

    run_virtually(live())
