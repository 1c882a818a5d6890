"""Worker clusters that an administrator holds or drains, by an annotation."""

from __future__ import annotations

import asyncio

import pytest

from tests.multikueue.sites import until
from tests.multikueue.world import World, job
from tests.parts.stage import JOBS, KUEUE, alongside
from tests.parts.virtual import run_virtually


def set_policy(world: World, cluster: str, policy: str) -> None:
    note = {"tidegate.dev/stop-policy": policy}
    path = f"{KUEUE}/multikueueclusters/{cluster}"
    world.manager.stage.change(path, {"metadata": {"annotations": note}})


@pytest.mark.slow
def test_what_runs_on_a_cluster_that_is_drained_goes_elsewhere() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 600))
            there, other = await world.chosen()
            await until(lambda: world.job("train")["status"].get("active") == 1, "it runs")
            set_policy(world, there.name, "HoldAndDrain")
            await until(lambda: world.status().get("clusterName") == other.name, "it moves")
            await until(lambda: not there.items(JOBS), "nothing is left there")
            set_policy(world, other.name, "Hold")
            await asyncio.sleep(60)
            assert world.status().get("clusterName") == other.name, "it stays"
            await until(lambda: world.holds("Finished"), "it is finished")

    run_virtually(live())
