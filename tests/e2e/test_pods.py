"""Plain Pods and groups of them: gated when made, let go when admitted, deleted when preempted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.act import Act, has_condition
from tests.e2e.cast import tidegate, until
from tests.e2e.test_job_kinds import NODES, PRIORITY, TOLERATION, configuration, get, prepare
from tests.parts.foreign import pods_template
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
Object = dict[str, Any]
GROUP, TOTAL = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
GATE = "kueue.x-k8s.io/admission"


def pod(name: str, queue: str, seconds: float, cpu: str = "2") -> Object:
    template = pods_template(cpu, seconds)
    labels = {"kueue.x-k8s.io/queue-name": queue}
    metadata = {**template["metadata"], "name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def is_gated(obj: Object) -> bool:
    return GATE in [gate["name"] for gate in obj["spec"].get("schedulingGates", ())]


def runs(obj: Object) -> bool:
    return bool(obj.get("status", {}).get("phase") == "Running")


class Yard:
    """A namespace for pods, with a queue of 2 CPUs."""

    def __init__(self, api: KubernetesApi, namespace: str) -> None:
        self.api, self.namespace = api, namespace
        self.path = f"/api/v1/namespaces/{namespace}/pods"
        self.workloads_path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/workloads"
        self.act = GatedAct(
            namespace=namespace,
            framework="pod",
            path="/api/v1/namespaces/{}/pods",
            make=pod,
            templates=lambda obj: [obj],
            finished=lambda obj: obj["status"]["phase"] == "Succeeded",
            active=runs,
        )

    async def make(self, obj: Object, priority: str = "low", **marks: str) -> Object:
        obj["metadata"]["labels"] |= {PRIORITY: priority}
        obj["metadata"]["annotations"] |= marks
        answer = await self.api.request("POST", self.path, body=msgspec.json.encode(obj))
        assert answer.status == 201, answer.body
        made: Object = msgspec.json.decode(answer.body)
        assert is_gated(made)
        return made

    async def member(self, name: str, group: str, seconds: float, **marks: str) -> Object:
        """Make a pod of a group of two, of one CPU."""
        obj = pod(name, self.namespace, seconds, cpu="1")
        obj["metadata"]["labels"] |= {GROUP: group}
        return await self.make(obj, **{TOTAL: "2", **marks})

    def seen(self, name: str, holds: Callable[[Object], bool]) -> Callable[[], Any]:
        async def look() -> bool:
            return holds(await get(self.api, f"{self.path}/{name}"))

        return look

    async def workloads(self) -> dict[str, Object]:
        fields = await get(self.api, self.workloads_path)
        return {obj["metadata"]["name"]: obj for obj in fields["items"]}

    async def workload(self, name: str) -> Object:
        """Wait for a Workload whose name begins so: pods do not wait until theirs is shown."""
        mapping = dict[str, Object]()

        async def shown() -> bool:
            mapping.update(await self.workloads())
            return any(text.startswith(name) for text in mapping)

        await until(shown, f"Workload {name} is shown")
        return next(mapping[text] for text in mapping if text.startswith(name))

    def says(self, name: str, *conditions: str) -> Callable[[], Any]:
        async def look() -> bool:
            fields = (await self.workloads()).get(name, {})
            return all(has_condition(fields, condition) for condition in conditions)

        return look

    def finished(self, name: str) -> Callable[[], Any]:
        return self.says(name, "Finished")


class GatedAct(Act):
    """What is suspended of a pod is its scheduling."""

    def is_suspended(self, obj: Object) -> bool:
        return is_gated(obj)


@asynccontextmanager
async def yard(
    api: KubernetesApi, own_api: str, tmp_path: Path, namespace: str
) -> AsyncGenerator[tuple[Yard, RunningServices]]:
    here = Yard(api, namespace)
    await prepare(api, here.act)
    config = tmp_path / "configuration.yaml"
    config.write_text(configuration(here.act))
    wanted = RunOptions(state=tmp_path, kubeconfig=Path(own_api), config=str(config))
    async with run_services(wanted, print) as running:
        yield here, running
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


def gone(finding: Object) -> bool:
    return finding.get("code") == 404


def kept(obj: Object) -> bool:
    ended = obj.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return ended and "deletionTimestamp" in obj["metadata"]


async def test_a_pod_is_gated_placed_run_and_deleted_for_a_greater(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with yard(api, own_api, tmp_path, "life-pod") as (here, _):
        await here.make(pod("low", here.namespace, 60))
        await until(here.seen("low", runs), "it runs")
        placed = await get(api, f"{here.path}/low")
        assert NODES.items() <= placed["spec"]["nodeSelector"].items()
        assert TOLERATION in placed["spec"]["tolerations"]
        assert not is_gated(placed)
        await here.make(pod("high", here.namespace, 10), "high")
        await until(here.seen("low", gone), "the lesser is deleted")
        shown = await here.workload("pod-high")
        await until(here.seen("high", here.act.ended), "the greater finishes")
        await until(here.finished(shown["metadata"]["name"]), "its Workload says so")


async def test_a_group_starts_together_and_takes_a_replacement(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with yard(api, own_api, tmp_path, "life-group") as (here, _):
        await here.member("one", "crew", 40)
        await here.make(pod("alone", here.namespace, 1))
        await until(here.seen("alone", here.act.ended), "a pod without a group goes first")
        assert "crew" not in await here.workloads()
        await here.member("two", "crew", 15, **{"simulate/exit-code": "1"})
        for name in ("one", "two"):
            await until(here.seen(name, runs), f"{name} runs")
        workload = await here.workload("crew")
        assert sum(podset["count"] for podset in workload["spec"]["podSets"]) == 2
        assert len(workload["metadata"]["ownerReferences"]) == 2
        await until(here.seen("two", lambda obj: obj["status"]["phase"] == "Failed"), "it fails")
        await here.member("three", "crew", 1)
        await until(here.seen("three", here.act.ended), "its replacement runs to its end")
        await until(here.finished("crew"), "all are done")


@pytest.mark.slow
async def test_a_group_whose_name_is_an_annotation_starts_and_is_preempted(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with yard(api, own_api, tmp_path, "life-long-name") as (here, _):
        name = "crew-" + "of-a-very-long-name-" * 4 + "x"
        for text in ("one", "two"):
            fields = pod(text, here.namespace, 60, cpu="1")
            await here.make(fields, **{TOTAL: "2", GROUP: name})
        for text in ("one", "two"):
            await until(here.seen(text, runs), f"{text} runs")
        await here.make(pod("high", here.namespace, 1), "high")
        for text in ("one", "two"):
            await until(here.seen(text, kept), f"{text} is stopped")
        await until(here.seen("high", here.act.ended), "the greater finishes")


@pytest.mark.slow
async def test_pods_too_many_are_deleted_and_one_goes_ahead_of_its_group(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    fast = {"kueue.x-k8s.io/pod-group-fast-admission": "true"}
    async with yard(api, own_api, tmp_path, "life-crowd") as (here, _):
        await here.make(pod("first", here.namespace, 10))
        await until(here.seen("first", runs), "the queue is full")
        names = ("one", "two", "three")
        for name in names:
            await here.member(name, "crowd", 1)

        async def one_is_gone() -> bool:
            outcomes: list[bool] = [await here.seen(name, gone)() for name in names]
            return outcomes.count(True) == 1

        # Which counts as the newest is reported in whole seconds.
        await until(one_is_gone, "one is too many")
        await until(here.finished("crowd"), "the others are done")
        await here.member("ahead", "slow", 1, **fast)
        await until(here.seen("ahead", here.act.ended), "it goes before the other is there")
        await here.member("after", "slow", 1, **fast)
        await until(here.finished("slow"), "both are done")


@pytest.mark.slow
async def test_a_group_is_deleted_together_for_a_greater_and_others_take_its_place(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with yard(api, own_api, tmp_path, "life-flock") as (here, _):
        for name in ("one", "two"):
            await here.member(name, "flock", 60)
        for name in ("one", "two"):
            await until(here.seen(name, runs), f"{name} runs")
        before = await here.workload("flock")
        await here.make(pod("high", here.namespace, 10), "high")
        for name in ("one", "two"):
            await until(here.seen(name, kept), f"{name} is stopped and kept")
        await until(here.seen("high", runs), "the greater takes their quota")
        await until(here.says("flock", "Evicted", "WaitingForReplacementPods"), "it says so")
        for name in ("three", "four"):
            await here.member(name, "flock", 5)
        await until(here.seen("three", runs), "others take their place")
        for name in ("one", "two"):
            await until(here.seen(name, gone), f"{name} is let go")
        await until(here.finished("flock"), "it runs to its end")
        after = await here.workload("flock")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_group_that_was_stopped_ends_with_its_workload_or_its_namespace(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with yard(api, own_api, tmp_path, "life-last") as (here, _):
        for group in ("flock", "herd"):
            for number in ("one", "two"):
                await here.member(f"{group}-{number}", group, 600)
            await until(here.seen(f"{group}-two", runs), f"{group} runs")
            await here.make(pod(f"than-{group}", here.namespace, 1), "high")
            for number in ("one", "two"):
                await until(here.seen(f"{group}-{number}", kept), f"{group} is stopped and kept")
        await until(here.says("flock", "Evicted"), "it is shown")
        await api.request("DELETE", f"{here.workloads_path}/flock")
        for number in ("one", "two"):
            await until(here.seen(f"flock-{number}", gone), "its pods go with its Workload")
        assert kept(await get(api, f"{here.path}/herd-one"))
        await api.request("DELETE", f"/api/v1/namespaces/{here.namespace}")

        async def no_namespace() -> bool:
            return gone(await get(api, f"/api/v1/namespaces/{here.namespace}"))

        await until(no_namespace, "the namespace goes")
