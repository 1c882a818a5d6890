"""What else runs beside workers: ordinary jobs, readiness, a connection that hangs, topologies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

from msgspec.structs import replace

from tests.multikueue.sites import NAMESPACE, QUEUE, until
from tests.multikueue.world import POLICY, WORKLOADS, Object, World, job
from tests.parts.interposed import Interposed
from tests.parts.stage import JOBS, KUEUE, alongside, kueue
from tests.parts.virtual import run_virtually
from tidegate.model.policy import PodsReady


class Hanging(Interposed):
    """An API server whose watches never open."""

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        await asyncio.Event().wait()
        async with super().watch(path, query) as lines:
            yield lines


def plain_queue(world: World) -> None:
    """Make a second queue on the manager, without the check."""
    quota = {"name": "cpu", "nominalQuota": "2"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
    spec: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
    world.manager.stage.make(f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "plain", **spec))
    local = kueue("LocalQueue", "plain", clusterQueue="plain")
    local["metadata"]["namespace"] = NAMESPACE
    world.manager.stage.make(f"{KUEUE}/namespaces/{NAMESPACE}/localqueues", local)


def test_ordinary_jobs_run_beside_on_the_manager_and_on_the_worker() -> None:
    async def live() -> None:
        world = World(quotas=("0", "4"))
        plain_queue(world)
        here, there = job("here", 60), job("there", 60)
        for obj, queue in ((here, "plain"), (there, QUEUE)):
            del obj["spec"]["managedBy"]
            obj["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, here)
            world.workers["w2"].stage.make(JOBS, there)
            world.manager.stage.make(JOBS, job("far", 60))

            def ended(name: str, site: str) -> bool:
                obj = world.job(name, world.workers.get(site))
                current_conditions = obj.get("status", {}).get("conditions", [])
                return any(condition["type"] == "Complete" for condition in current_conditions)

            await until(lambda: ended("here", "") and ended("far", ""), "both complete here")
            await until(lambda: ended("there", "w2"), "the worker's own completes")
            assert not world.job("here", world.workers["w2"]), "it was not sent"
            await until(lambda: not world.job("far", world.workers["w2"]), "it is taken back")
            assert world.job("there", world.workers["w2"]), "what was made there stays"

    run_virtually(live())


def test_a_worker_whose_connection_hangs_delays_no_other() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        stage = world.workers["w1"].stage
        stage.api = Hanging(stage.embedded)
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 30))
            there, _ = await world.chosen()
            assert there.name == "w2"
            await until(lambda: world.holds("Finished"), "it is finished", 120.0)

    run_virtually(live())


def test_a_job_that_is_ready_on_its_worker_is_ready_here() -> None:
    async def live() -> None:
        ready = PodsReady(timeout_us=120_000_000)
        world = World(replace(POLICY, pods_ready=ready), quotas=("0", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 600))
            await world.chosen()
            await until(lambda: world.holds("PodsReady"), "its pods are ready there")
            await asyncio.sleep(300)
            assert world.holds("Admitted"), "it is not evicted for pods that run elsewhere"

    run_virtually(live())


def test_the_copy_is_owned_by_its_job_so_that_any_manager_finds_it() -> None:
    async def live() -> None:
        world = World(quotas=("0", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 600))
            there, _ = await world.chosen()

            def owners() -> list[tuple[str, str]]:
                metadata = [workload["metadata"] for workload in there.items(WORKLOADS)]
                refs = [ref for meta in metadata for ref in meta.get("ownerReferences", [])]
                return [(ref["kind"], ref["name"]) for ref in refs if ref.get("controller")]

            await until(lambda: owners() == [("Job", "train")], "the job owns it")

    run_virtually(live())


def test_a_copy_that_is_gone_on_its_worker_is_reported_again_when_it_is_withdrawn() -> None:
    async def live() -> None:
        world = World(quotas=("0", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 200))
            there, _ = await world.chosen()
            await until(lambda: world.job("train")["status"].get("active") == 1, "it runs")
            there.stage.remove(f"{JOBS}/train")
            await until(lambda: not world.holds("Admitted"), "it is evicted", 60.0)
            await until(lambda: world.holds("Finished"), "it runs anew", 400.0)

    run_virtually(live())
