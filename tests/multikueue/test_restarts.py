"""Parts of the manager that end midway, and rounds of nomination."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from tests.multikueue.sites import Manager, until
from tests.multikueue.world import POLICY, SENT, WORKLOADS, World, job
from tests.parts.stage import JOBS, alongside
from tests.parts.virtual import run_virtually

Service: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
LAST_S = 60.0


@asynccontextmanager
async def watched(world: World, path: str = JOBS) -> AsyncGenerator[None]:
    """Object to a job that two workers have at once."""

    async def look() -> None:
        while True:
            having = [name for name, site in world.workers.items() if site.items(path)]
            assert len(having) <= 1, having
            await asyncio.sleep(0.2)

    async with alongside(look()) as looking:
        yield
        assert not looking.done(), looking.exception()


async def end_midway(world: World, services: Sequence[Service], *pauses_s: float) -> None:
    """Run services again and again, each time for longer, and at last until all is over."""
    for pause_s in (*pauses_s, LAST_S):
        async with AsyncExitStack() as running:
            for service in services:
                await running.enter_async_context(alongside(service()))
            await asyncio.sleep(pause_s)
            if pause_s == LAST_S:
                await until(lambda: world.holds("Finished"), "it is finished")
                await until(world.is_clean, "nothing is left on the workers")


def services_of(manager: Manager) -> list[Service]:
    return [manager.schedule, manager.ingest, manager.actuate, manager.dispatch]


@pytest.mark.slow
def test_every_service_of_the_manager_may_end_midway() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        manager = world.manager
        async with (
            alongside(world.workers["w1"].run()),
            alongside(world.workers["w2"].run()),
            alongside(manager.controller_manager.run()),
            watched(world),
        ):
            manager.stage.make(JOBS, job("train", 300))
            await end_midway(world, services_of(manager), 0.7, 1.3, 2.1, 3.4, 5.5, 8.9, 20.0)

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
