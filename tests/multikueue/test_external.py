"""An external dispatcher: ``status.nominatedClusterNames`` says which clusters are tried."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from tests.multikueue.sites import until
from tests.multikueue.world import POLICY, SENT, WORKLOADS, World, job
from tests.parts.stage import JOBS, alongside
from tests.parts.virtual import run_virtually

EXTERNAL = replace(POLICY, multikueue=replace(SENT, dispatcher="External"))


def nominate(world: World, *names: str) -> None:
    path = f"{WORKLOADS}/{world.workload()['metadata']['name']}/status"
    world.manager.stage.change(path, {"status": {"nominatedClusterNames": list(names)}})


def test_an_external_dispatcher_nominates_clusters() -> None:
    async def live() -> None:
        world = World(EXTERNAL, quotas=("4", "4"))
        site, two = world.workers.values()
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 60))
            await until(lambda: world.holds("QuotaReserved"), "it has quota here")
            await asyncio.sleep(60)
            assert world.is_clean(), "no cluster was nominated"
            nominate(world, "w2")
            await until(lambda: world.status().get("clusterName") == "w2", "it runs there")
            assert "nominatedClusterNames" not in world.status()
            assert not site.items(WORKLOADS)
            await until(lambda: world.holds("Finished"), "it is finished")
            await until(lambda: not two.items(JOBS), "nothing is left")

    run_virtually(live())


@pytest.mark.slow
def test_nominations_stand_until_all_begins_anew() -> None:
    async def live() -> None:
        world = World(EXTERNAL, quotas=("1", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 60, cpu="3"))
            await until(lambda: world.holds("QuotaReserved"), "it has quota here")
            nominate(world, "w1")
            await until(lambda: world.workers["w1"].items(WORKLOADS), "it is asked")
            await asyncio.sleep(600)
            assert world.status()["nominatedClusterNames"] == ["w1"]
            path = f"{WORKLOADS}/{world.workload()['metadata']['name']}"
            world.manager.stage.change(path, {"spec": {"active": False}})
            await until(lambda: not world.holds("QuotaReserved"), "its quota is free")
            await until(world.is_clean, "the copy is taken back")
            assert "nominatedClusterNames" not in world.status()
            world.manager.stage.change(path, {"spec": {"active": True}})
            await until(lambda: world.holds("QuotaReserved"), "it has quota again")
            await asyncio.sleep(60)
            assert world.is_clean(), "what was nominated before counts no more"
            nominate(world, "w1", "w2")
            await until(lambda: world.status().get("clusterName") == "w2", "it runs there")

    run_virtually(live())
