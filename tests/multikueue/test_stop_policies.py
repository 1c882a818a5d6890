"""Worker clusters that an administrator holds or drains, by an annotation."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import pytest

from tests.multikueue.sites import until
from tests.multikueue.world import World, job
from tests.parts.stage import JOBS, KUEUE, alongside
from tests.parts.virtual import run_virtually
from tidegate.kube.ports import Response


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


def test_a_cluster_that_refuses_the_job_that_it_admitted_is_left_once_it_is_drained() -> None:
    async def refuse(method: str, path: str) -> Response | None:
        data = b'{"kind": "Status", "message": "no jobs here", "code": 403}'
        refused = method == "POST" and path == JOBS
        return Response(status=HTTPStatus.FORBIDDEN, body=data) if refused else None

    async def live() -> None:
        world = World(quotas=("4", "0"))
        world.workers["w1"].stage.api.before = refuse
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 30))
            await until(lambda: world.status().get("clusterName") == "w1", "it is chosen")
            await asyncio.sleep(600)
            assert world.check()["state"] == "Pending"
            quota = {"name": "cpu", "nominalQuota": "4"}
            flavors = [{"name": "any", "resources": [quota]}]
            groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
            queue = f"{KUEUE}/clusterqueues/main"
            world.workers["w2"].stage.change(queue, {"spec": {"resourceGroups": groups}})
            set_policy(world, "w1", "HoldAndDrain")
            await until(lambda: world.holds("Finished"), "it is finished", patience_s=300)
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())
