"""What the dispatcher counts, and which workload it looks at when something changes at a worker."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tests.multikueue.sites import QUEUE, Site, until
from tests.multikueue.world import PODS, World, job, pod
from tests.parts.stage import JOBS, alongside
from tests.parts.virtual import run_virtually

PROMPTLY_S = 10.0
"""By the virtual clock; what was missed is looked at after a minute."""


def counted(world: World, what: str, cluster: str) -> float:
    labels = {"cluster_queue": QUEUE, "cluster": cluster, "replica_role": "leader"}
    name = f"multikueue_workloads_{what}_total"
    return world.manager.counted.get_sample_value(name, labels) or 0.0


def test_copies_and_admissions_are_counted_once() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        async with world.running():
            async with alongside(world.manager.dispatch()):
                world.manager.stage.make(JOBS, job("train", 400))
                there, other = await world.chosen()
                await asyncio.sleep(200)
                assert [counted(world, "dispatched", worker) for worker in world.workers] == [
                    1.0,
                    1.0,
                ]
                assert counted(world, "admitted", there.name) == 1.0
                assert counted(world, "admitted", other.name) == 0.0
            async with alongside(world.manager.dispatch()):
                await until(lambda: world.holds("Finished"), "it is finished")
                assert counted(world, "admitted", there.name) == 0.0, "another one counted that"

    run_virtually(live())


@pytest.mark.slow
def test_a_worker_that_evicts_and_admits_again_counts_twice() -> None:
    async def live() -> None:
        world = World(quotas=("0", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 400))
            there, _ = await world.chosen()
            path = f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{QUEUE}"
            there.stage.change(path, {"spec": {"stopPolicy": "HoldAndDrain"}})
            await until(lambda: not world.holds("Admitted"), "it is evicted")
            there.stage.change(path, {"spec": {"stopPolicy": "None"}})
            await until(lambda: world.holds("Finished"), "it is finished")
            assert counted(world, "admitted", "w2") == 2.0
            assert counted(world, "dispatched", "w2") == 2.0

    run_virtually(live())


def test_a_pod_and_a_job_of_one_name_are_each_seen_at_once() -> None:
    async def live() -> None:
        world = World(quotas=("0", "4"))
        there, loop = world.workers["w2"], asyncio.get_running_loop()
        world.manager.stage.make(JOBS, job("same", 3_000))
        waits = pod("same")
        waits["metadata"]["annotations"]["simulate/seconds"] = "3000"
        world.manager.stage.make(PODS, waits)

        def message(site: Site) -> str:
            named = [obj for obj in site.items(PODS) if obj["metadata"]["name"] == "same"]
            return named[0].get("status", {}).get("message", "") if named else ""

        def shows(text: str) -> bool:
            return message(world.manager) == text

        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: there.items(PODS), "the pod is there")
            await asyncio.sleep(15)
            for count in ("1", "2", "3"):
                there.stage.change(f"{PODS}/same/status", {"status": {"message": count}})
                changed_s = loop.time()
                await until(partial(shows, count), "it is seen here")
                assert loop.time() - changed_s < PROMPTLY_S

    run_virtually(live())
