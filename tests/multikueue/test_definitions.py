"""What happens to clusters, their credentials and others' objects while workloads are sent."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from contextlib import AsyncExitStack
from http import HTTPStatus

import pytest

from tests.multikueue.sites import CHECK, NAMESPACE, SECRETS, Site, secret, until
from tests.multikueue.world import WORKLOADS, Object, World, job
from tests.parts.stage import JOBS, KUEUE, alongside, kueue
from tests.parts.virtual import run_virtually
from tidegate.kinds.names import PREBUILT_WORKLOAD
from tidegate.kube.ports import Response

ORIGIN = "kueue.x-k8s.io/multikueue-origin"
INSECURE = b"""
clusters: [{name: c, cluster: {server: "https://w1.example", insecure-skip-tls-verify: true}}]
"""


def condition(obj: Object, kind: str = "Active") -> str:
    """Return status and reason of a condition; empty: there is none."""
    current_conditions = obj.get("status", {}).get("conditions", [])
    return next(
        (
            f"{candidate_condition['status']} {candidate_condition['reason']}"
            for candidate_condition in current_conditions
            if candidate_condition["type"] == kind
        ),
        "",
    )


def read(world: World, plural: str, name: str) -> Object:
    fields: Object = world.manager.stage.read(f"{KUEUE}/{plural}/{name}")
    return fields


def test_a_cluster_whose_secret_is_refused_is_asked_no_more() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: condition(read(world, "admissionchecks", CHECK)), "it is told")
            data = {"kubeconfig": b64encode(INSECURE).decode()}
            world.manager.stage.change(f"{SECRETS}/w1", {"data": data})
            await until(
                lambda: (
                    condition(read(world, "multikueueclusters", "w1")) == "False InsecureKubeConfig"
                ),
                "the cluster says so",
            )
            await until(
                lambda: (
                    condition(read(world, "admissionchecks", CHECK)) == "True SomeActiveClusters"
                ),
                "the check says so",
            )
            world.manager.stage.make(JOBS, job("train", 30))
            there, other = await world.chosen()
            assert there.name == "w2"
            assert not other.items(WORKLOADS)

    run_virtually(live())


def test_what_is_deleted_while_its_worker_is_away_goes_once_it_is_back() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 4_000))
            there, _ = await world.chosen()
            await until(lambda: there.items(JOBS), "it runs")
            there.stage.api.down = True
            world.manager.stage.remove(f"{JOBS}/train")
            await until(lambda: not world.manager.items(WORKLOADS), "it is gone here")
            await asyncio.sleep(120)
            assert there.items(JOBS)
            there.stage.api.down = False
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


def test_what_is_evicted_here_is_stopped_there_before_it_is_taken_back() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 4_000))
            there, _ = await world.chosen()
            await until(lambda: world.job("train")["status"].get("active") == 1, "it runs")
            seen = noted(there)
            path = f"{WORKLOADS}/{world.workload()['metadata']['name']}"
            world.manager.stage.change(path, {"spec": {"active": False}})
            await until(world.is_clean, "nothing is left on the workers")
            assert seen == ["deactivated", "evicted", "stopped"]
            await until(lambda: world.holds("Evicted"), "it is evicted here")
            assert not world.job("train")["status"].get("active"), "as it was seen there"
            await until(lambda: not world.holds("QuotaReserved"), "without quota")

    run_virtually(live())


def noted(site: Site) -> list[str]:
    """Return how a worker's copy goes from here on, each state once, as it is seen."""
    seen = list[str]()

    def look(_change: object) -> None:
        for copy in site.items(WORKLOADS):
            why = condition(copy, "DeactivationTarget")
            fields = {
                "deactivated": why == "True EvictedOnManagerCluster",
                "evicted": condition(copy, "Evicted").startswith("True"),
                "stopped": condition(copy, "QuotaReserved").startswith("False"),
            }
            seen.extend(name for name, holds in fields.items() if holds and name not in seen)

    site.stage.embedded.registry.state.listeners.append(look)
    return seen


def test_a_job_that_others_made_on_a_worker_stays() -> None:
    async def live() -> None:
        world = World()
        there = world.workers["w1"]
        mine = job("train", 4_000)
        del mine["metadata"]["labels"]
        uid = there.stage.make(JOBS, mine)["metadata"]["uid"]
        world.workers["w2"].stage.api.down = True
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 30))
            await until(lambda: there.items(WORKLOADS), "a copy is there")
            await asyncio.sleep(60)
            assert world.check()["state"] == "Pending"
            world.manager.stage.remove(f"{JOBS}/train")
            await until(lambda: not there.items(WORKLOADS), "the copy is taken back")
            assert [obj["metadata"]["uid"] for obj in there.items(JOBS)] == [uid]

    run_virtually(live())


def test_a_worker_that_answers_with_errors_does_not_stop_the_other() -> None:
    async def refuse(method: str, _path: str) -> Response | None:
        data = b'{"kind": "Status", "message": "etcd is full", "code": 500}'
        refused = method == "POST"
        return Response(status=HTTPStatus.INTERNAL_SERVER_ERROR, body=data) if refused else None

    async def live() -> None:
        world = World(quotas=("4", "4"))
        world.workers["w1"].stage.api.before = refuse
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("first", 30))
            there, _ = await world.chosen()
            assert there.name == "w2"
            await until(lambda: world.holds("Finished"), "it is finished")
            world.workers["w1"].stage.api.before = None
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


@pytest.mark.slow
def test_the_collector_takes_what_nothing_here_stands_for_and_leaves_what_others_sent() -> None:
    async def live() -> None:
        world = World()
        there = world.workers["w1"]
        podset = {"name": "main", "count": 1, "template": {"spec": {"containers": []}}}
        for name, origin in (("left", "here"), ("others", "elsewhere")):
            made = kueue("Workload", name, podSets=[podset])
            made["metadata"] |= {"namespace": NAMESPACE, "labels": {ORIGIN: origin}}
            there.stage.make(WORKLOADS, made)
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: len(there.items(WORKLOADS)) == 1, "one is collected")
            await asyncio.sleep(180)
            assert [workload["metadata"]["name"] for workload in there.items(WORKLOADS)] == [
                "others"
            ]

    run_virtually(live())


def test_a_job_whose_copy_is_gone_is_collected() -> None:
    async def live() -> None:
        world = World()
        there = world.workers["w1"]
        for name, origin in (("left", "here"), ("others", "elsewhere")):
            made = job(name, 4_000)
            del made["spec"]["managedBy"]
            made["metadata"]["labels"] = {ORIGIN: origin}
            made["metadata"]["annotations"] = {PREBUILT_WORKLOAD: f"job-{name}"}
            there.stage.make(JOBS, made)
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: len(there.items(JOBS)) == 1, "one is collected")
            await asyncio.sleep(180)
            assert [obj["metadata"]["name"] for obj in there.items(JOBS)] == ["others"]

    run_virtually(live())


def test_a_secret_with_the_same_content_cuts_no_connection_and_another_content_does() -> None:
    async def live() -> None:
        world = World()
        api = world.workers["w1"].stage.api

        def lists() -> int:
            return api.requests.count(("GET", f"{KUEUE}/workloads"))

        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: lists() == 1, "it is connected")
            world.manager.stage.change(
                f"{SECRETS}/w1", {"metadata": {"annotations": {"rotated": "no"}}}
            )
            await asyncio.sleep(60)
            assert lists() == 1
            other = secret("w1", "https://w1.example:6444")
            world.manager.stage.change(f"{SECRETS}/w1", {"data": other["data"]})
            await until(lambda: lists() == 2, "it is connected anew")

    run_virtually(live())


def test_a_cluster_that_is_made_anew_at_once_is_sent_to() -> None:
    async def live() -> None:
        world = World(quotas=("0", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: _is_connected(world, "w2"), "it is connected")
            path = f"{KUEUE}/multikueueclusters"
            spec = world.manager.stage.read(f"{path}/w2")["spec"]
            world.manager.stage.remove(f"{path}/w2")
            world.manager.stage.make(path, kueue("MultiKueueCluster", "w2", **spec))
            await until(lambda: _is_connected(world, "w2"), "it is connected", patience_s=60)
            world.manager.stage.make(JOBS, job("train", 30))
            await until(lambda: world.holds("Finished"), "it is finished", patience_s=300)

    run_virtually(live())


def test_a_condition_that_was_not_written_is_written_later() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: _is_connected(world, "w1"), "it is connected")
            path = f"{KUEUE}/multikueueclusters/w1/status"
            world.manager.stage.change(path, {"status": {"conditions": []}})
            await until(lambda: _is_connected(world, "w1"), "it is connected", patience_s=60)

    run_virtually(live())


def test_a_cluster_whose_deletion_is_read_late_is_sent_to() -> None:
    async def live() -> None:
        world = World(quotas=("0", "4"))
        manager, path = world.manager, f"{KUEUE}/multikueueclusters"
        others = (world.workers["w2"].run(), manager.schedule(), manager.actuate())
        async with AsyncExitStack() as stack:
            for work in (*others, manager.dispatch()):
                await stack.enter_async_context(alongside(work))
            async with alongside(manager.ingest()):
                await until(lambda: _is_connected(world, "w2"), "it is connected")
            spec = manager.stage.read(f"{path}/w2")["spec"]
            manager.stage.remove(f"{path}/w2")
            manager.stage.make(path, kueue("MultiKueueCluster", "w2", **spec))
            await until(lambda: _is_connected(world, "w2"), "it is connected", patience_s=60)
            await asyncio.sleep(5)
            async with alongside(manager.ingest()):
                manager.stage.make(JOBS, job("train", 30))
                await until(lambda: world.holds("Finished"), "it is finished", patience_s=300)

    run_virtually(live())


def test_a_finalizer_on_a_copy_keeps_no_quota_here() -> None:
    async def live() -> None:
        world = World(quotas=("4", "0"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 4_000))
            there, _ = await world.chosen()
            path = f"{WORKLOADS}/{world.workload()['metadata']['name']}"
            there.stage.change(path, {"metadata": {"finalizers": ["example.com/stay"]}})
            world.manager.stage.change(path, {"spec": {"active": False}})
            await until(lambda: not world.holds("QuotaReserved"), "without quota", patience_s=120)
            assert not there.items(JOBS)
            world.manager.stage.change(path, {"spec": {"active": True}})
            await until(lambda: world.holds("QuotaReserved"), "with quota", patience_s=120)
            await asyncio.sleep(60)
            assert not there.items(JOBS), "its older copy is still there"
            there.stage.change(path, {"metadata": {"finalizers": []}})
            await until(lambda: there.items(JOBS), "it runs again", patience_s=120)

    run_virtually(live())


def _is_connected(world: World, name: str) -> bool:
    return condition(read(world, "multikueueclusters", name)) == "True Active"
