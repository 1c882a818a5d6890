"""Pods of elastic jobs are let go by their Workload, on the embedded API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.projection.read_model import ReadModel
from actuator.ungating.elastic import ElasticPods
from actuator.ungating.pod_ungater import JobPods, PodUngater
from actuator.ungating.topology import TopologyPods
from tests.parts.growth import entries
from tests.parts.stage import JOBS, KUEUE, Object, Stage, alongside, eventually, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import StartOrdered
from tidegate.contracts.entry import Published
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
PODS = "/api/v1/namespaces/default/pods"
GATE = {"name": "kueue.x-k8s.io/elastic-job"}
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
GENERATION = "tidegate.dev/generation"
AT = "2026-03-01T08:00:00Z"


class Elastic(Stage):
    """One elastic job's pods and Workloads, as its controller and the projection make them."""

    def __init__(self) -> None:
        super().__init__(with_crds=True)
        self.uid = self.make(JOBS, job())["metadata"]["uid"]
        self.calls = Calls(self.api, Metrics(CollectorRegistry()))
        self.lets_go = PodUngater(self.calls, Random(3), ElasticPods())

    def pod(self, name: str, *gates: Object, owner: str = "") -> None:
        template = job()["spec"]["template"]
        meta = {
            "name": name,
            "labels": {"tidegate.dev/elastic": "true"},
            "ownerReferences": [{**OWNER, "uid": owner or self.uid}],
        }
        spec = {**template["spec"], "schedulingGates": list(gates or [GATE])}
        self.make(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    def workload(self, name: str, granted: int, *conditions: str, asked: int = 9) -> None:
        podset = {"name": "main", "count": asked, "template": job()["spec"]["template"]}
        obj = kueue("Workload", name, queueName="main", podSets=[podset])
        obj["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": self.uid}
        obj["metadata"]["annotations"] = {GENERATION: "1"}
        self.make(WORKLOADS, obj)
        self.grant(name, granted, *conditions)

    def grant(self, name: str, granted: int, *conditions: str) -> None:
        fields = {"status": "True", "reason": "r", "message": "m", "lastTransitionTime": AT}
        held = [{"type": text, **fields} for text in ("QuotaReserved", *conditions)]
        given = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": granted}]}
        status = {"conditions": held, "admission": given}
        self.change(f"{WORKLOADS}/{name}/status", {"status": status})

    def let_go(self) -> list[str]:
        value = self.read(PODS)["items"]
        return [obj["metadata"]["name"] for obj in value if GATE not in gates_of(obj)]


def gates_of(obj: Object) -> list[Object]:
    gates: list[Object] = obj["spec"].get("schedulingGates", [])
    return gates


def test_as_many_pods_are_let_go_as_were_granted_the_lowest_names_first() -> None:
    async def run() -> None:
        stage = Elastic()
        for name in ("c", "a", "b"):
            stage.pod(name)
        stage.workload("one", 2, "Admitted")
        async with alongside(stage.lets_go.run()):
            await asyncio.sleep(5)
            assert stage.let_go() == []  # another actuator is the active one
            stage.lets_go.set_active(True)
            await eventually(lambda: stage.let_go() == ["a", "b"])
            stage.remove(f"{PODS}/a")
            await eventually(lambda: stage.let_go() == ["b", "c"])

    run_virtually(run())


@pytest.mark.parametrize("conditions", [(), ("Admitted", "Finished")])
def test_no_pod_is_ungated_by_a_workload_that_does_not_stand_for_the_job(
    conditions: tuple[str, ...],
) -> None:
    async def run() -> None:
        stage = Elastic()
        stage.pod("a")
        stage.workload("one", 2, *conditions)
        stage.lets_go.set_active(True)
        async with alongside(stage.lets_go.run()):
            await asyncio.sleep(10)
            assert stage.let_go() == []

    run_virtually(run())


def test_pods_of_missing_jobs_cost_ever_less_and_delay_no_other_pod() -> None:
    """A user with the right to create pods may write any owner on them."""

    async def run() -> None:
        stage = Elastic()
        for number in range(20):
            stage.pod(f"odd-{number}", owner=f"absent-{number}")
        stage.lets_go.set_active(True)
        async with alongside(stage.lets_go.run()):
            await asyncio.sleep(120)
            stage.api.requests.clear()
            await asyncio.sleep(120)
            assert (
                len([request for request in stage.api.requests if request[0] == "GET"])
                <= 20 * 2 * 3
            )
            stage.workload("one", 1, "Admitted")
            stage.pod("a")
            await eventually(lambda: stage.let_go() == ["a"])

    run_virtually(run())


def test_a_pod_whose_patch_was_never_answered_has_the_room_before_any_other() -> None:
    async def run() -> None:
        stage = Elastic()
        stage.workload("one", 1, "Admitted")
        for name in ("a", "b"):
            stage.pod(name)
        mapping = {obj["metadata"]["name"]: read(obj, Pod) for obj in stage.read(PODS)["items"]}
        standing = JobPods(mapping, ("a", "b"), {"b": {"spec": {"schedulingGates": None}}})
        released = await ElasticPods().ungating_patches(stage.calls, standing)
        assert released is not None
        assert [release.pod.metadata.name for release in released] == ["b"]

    run_virtually(run())


def test_a_slice_that_takes_over_lets_the_others_go() -> None:
    async def run() -> None:
        stage = Elastic()
        stage.workload("one", 1, "Admitted")
        stage.workload("two", 2)
        stage.lets_go.set_active(True)
        async with alongside(stage.lets_go.run()):
            for name in ("a", "b", "c"):
                stage.pod(name, {"name": "own"}, GATE)
            await eventually(lambda: stage.let_go() == ["a"])
            stage.grant("two", 2, "Admitted")
            stage.grant("one", 1, "Admitted", "Finished")
            await eventually(lambda: stage.let_go() == ["a", "b"])
            assert gates_of(stage.read(f"{PODS}/a")) == [{"name": "own"}]

    run_virtually(run())


def test_a_job_that_shrank_has_no_room_for_what_it_was_granted_before() -> None:
    async def run() -> None:
        stage = Elastic()
        stage.pod("a")
        stage.pod("b")
        stage.workload("one", 2, "Admitted", asked=1)
        stage.lets_go.set_active(True)
        async with alongside(stage.lets_go.run()):
            await eventually(lambda: stage.let_go() == ["a"])
            await asyncio.sleep(10)
            assert stage.let_go() == ["a"]

    run_virtually(run())


def test_no_pod_is_ungated_until_the_workload_is_written_for_the_job_as_it_is() -> None:
    async def run() -> None:
        stage = Elastic()
        stage.pod("a")
        stage.workload("one", 2, "Admitted")
        stage.change(f"{JOBS}/train", {"spec": {"parallelism": 3}})
        stage.lets_go.set_active(True)
        async with alongside(stage.lets_go.run()):
            await asyncio.sleep(10)
            assert stage.let_go() == []  # it may have shrunk before, and the quota be another's
            stage.change(f"{WORKLOADS}/one", {"metadata": {"annotations": {GENERATION: "2"}}})
            await eventually(lambda: stage.let_go() == ["a"])

    run_virtually(run())


class LeavesOut:
    """An API server whose watches never tell that something was deleted."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api, self.request = api, api.request

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes], None]:
        async with self._api.watch(path, query) as lines:
            yield (line async for line in lines if b'"DELETED"' not in line)


def test_a_pod_whose_end_no_watch_reported_keeps_no_room_for_ever() -> None:
    async def run() -> None:
        stage = Elastic()
        stage.lets_go = PodUngater(
            Calls(LeavesOut(stage.api), Metrics(CollectorRegistry())), Random(3), ElasticPods()
        )
        for name in ("a", "b"):
            stage.pod(name)
        stage.workload("w1", 1, "Admitted")
        stage.lets_go.set_active(True)
        async with alongside(stage.lets_go.run()):
            await eventually(lambda: stage.let_go() == ["a"])
            stage.remove(f"{PODS}/a")
            await eventually(lambda: stage.let_go() == ["b"])

    run_virtually(run())


@pytest.mark.parametrize("active", [True, False])
def test_jobs_whose_pods_are_gone_are_not_remembered(*, active: bool) -> None:
    async def come_and_go(stage: Elastic, number: int) -> None:
        name = f"job-{number}"
        ref = ObjectRef(kind="batch/job", namespace="default", name=name, uid=name)
        event = StartOrdered(at_us=0, workload=f"default/{name}", uid=name, job=ref)
        stage.lets_go.on_event(Published("L1", number, "", b""), event, live=True)
        stage.pod(name, owner=name)
        await asyncio.sleep(1)
        stage.remove(f"{PODS}/{name}")
        await asyncio.sleep(1)

    async def run() -> None:
        stage = Elastic()
        stage.lets_go.set_active(active)
        async with alongside(stage.lets_go.run()):
            for number in range(4):
                await come_and_go(stage, number)
            before = entries_of(stage.lets_go)
            for number in range(4, 40):
                await come_and_go(stage, number)
            assert entries_of(stage.lets_go) == before

    run_virtually(run())


def test_decisions_are_not_remembered_where_no_pod_may_wait() -> None:
    async def run() -> None:
        calls = Calls(Stage().api, Metrics(CollectorRegistry()))
        lets_go = PodUngater(calls, Random(3), TopologyPods(ReadModel))
        before = entries_of(lets_go)
        for number in range(9):
            name = f"job-{number}"
            ref = ObjectRef(kind="batch/job", namespace="default", name=name, uid=name)
            event = StartOrdered(at_us=0, workload=f"default/{name}", uid=name, job=ref)
            lets_go.on_event(Published("L1", number, "", b""), event, live=True)
        assert entries_of(lets_go) == before

    run_virtually(run())


def entries_of(lets_go: PodUngater) -> dict[str, int]:
    return {
        place: count for place, count in entries(lets_go).items() if place.startswith("PodUngater.")
    }
