"""Deployments, StatefulSets and LeaderWorkerSets: queued through their pods, on a real API server.

Their pods wait behind gates until their Workload is admitted, run on its flavor's nodes, end when
it is preempted, and come back when it is admitted again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.act import Act, has_condition
from tests.e2e.cast import tidegate, until
from tests.e2e.lws import leader_worker_sets, numbering
from tests.e2e.test_job_kinds import NODES, PRIORITY, TOLERATION, configuration, get, prepare
from tests.e2e.test_pods import is_gated, runs
from tests.parts.foreign import foreign_crd, pods_template
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunOptions, run_services
from tidegate.jobs.templates.paths import value_at
from tidegate.kinds.names import SUSPENDING_PARENT
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]
Object = dict[str, Any]
QUEUE = "kueue.x-k8s.io/queue-name"
LWS = "leaderworkerset.x-k8s.io/leaderworkerset"
TEMPLATES = {
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "LeaderWorkerSet": ("spec", "leaderWorkerTemplate", "workerTemplate"),
}


def template(cpu: str = "1") -> Object:
    obj = pods_template(cpu, 3_600)
    obj["spec"]["restartPolicy"] = "Always"
    return obj


def of_apps(kind: str, name: str, queue: str, replicas: int) -> Object:
    obj = template()
    obj["metadata"]["labels"] = {"app": name}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": obj}
    spec |= {"serviceName": name} if kind == "StatefulSet" else {}
    return made("apps/v1", kind, name, queue, spec)


def leader_worker_set(name: str, queue: str, replicas: int) -> Object:
    groups = {"size": 2, "leaderTemplate": template(), "workerTemplate": template()}
    spec = {"replicas": replicas, "leaderWorkerTemplate": groups}
    return made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name, queue, spec)


def made(version: str, kind: str, name: str, queue: str, spec: Object) -> Object:
    metadata = {"name": name, "labels": {QUEUE: queue}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


class ServingAct(Act):
    """What is suspended is the scheduling of an object's pods."""

    @property
    def frameworks(self) -> tuple[str, ...]:
        return ("batch/job", "pod", "deployment", "statefulset", LWS)

    def is_suspended(self, obj: Object) -> bool:
        path = (*TEMPLATES[obj["kind"]], "metadata", "annotations", SUSPENDING_PARENT)
        return value_at(obj, path) is not None


class Yard:
    """A namespace with a queue of 2 CPUs, and objects of one kind in it."""

    def __init__(self, api: KubernetesApi, namespace: str, path: str) -> None:
        self.api, self.namespace = api, namespace
        self.path = path.format(namespace)
        self.pods = f"/api/v1/namespaces/{namespace}/pods"

    async def create(self, obj: Object, priority: str = "low") -> None:
        obj["metadata"]["labels"] |= {PRIORITY: priority}
        answer = await self.api.request("POST", self.path, body=msgspec.json.encode(obj))
        assert answer.status == 201, answer.body

    async def scale(self, name: str, replicas: int) -> int:
        body = msgspec.json.encode({"spec": {"replicas": replicas}})
        where = f"{self.path}/{name}"
        answer = await self.api.request("PATCH", where, body=body, content_type=MERGE_PATCH)
        return answer.status

    async def delete(self, name: str) -> None:
        body = msgspec.json.encode({"propagationPolicy": "Background"})
        await self.api.request("DELETE", f"{self.path}/{name}", body=body)

    async def states(self, of: str) -> dict[str, str]:
        """Return how the pods stand that belong to an object, by their names."""
        items = (await get(self.api, self.pods))["items"]
        return {
            obj["metadata"]["name"]: "waits" if is_gated(obj) else obj["status"].get("phase", "")
            for obj in items
            if obj["metadata"]["name"].startswith(f"{of}-")
            and "deletionTimestamp" not in obj["metadata"]
        }

    def are(self, of: str, *wanted: str) -> Callable[[], Any]:
        async def look() -> bool:
            return sorted((await self.states(of)).values()) == sorted(wanted)

        return look

    async def workloads(self) -> dict[str, Object]:
        path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{self.namespace}/workloads"
        return {obj["metadata"]["name"]: obj for obj in (await get(self.api, path))["items"]}

    def admitted(self, *starts: str) -> Callable[[], Any]:
        """Tell whether just the Workloads whose names begin so are admitted."""

        async def look() -> bool:
            workloads = await self.workloads()
            names = {
                name for name, fields in workloads.items() if has_condition(fields, "Admitted")
            }
            alike = all(any(name.startswith(start) for name in names) for start in starts)
            return alike and len(names) == len(starts)

        return look

    async def check_placed(self, of: str) -> None:
        for obj in (await get(self.api, self.pods))["items"]:
            if obj["metadata"]["name"].startswith(f"{of}-") and runs(obj):
                assert NODES.items() <= obj["spec"]["nodeSelector"].items()
                assert TOLERATION in obj["spec"]["tolerations"]


async def nothing(_: Yard) -> None:
    """Do nothing before the services come."""


@dataclass(frozen=True)
class Subject:
    """What a test is about: a collection, an object like its own, and what comes first."""

    path: str
    probe: Object
    first: Callable[[Yard], Awaitable[None]] = nothing


@asynccontextmanager
async def yard(
    api: KubernetesApi, own_api: str, tmp_path: Path, subject: Subject
) -> AsyncGenerator[Yard]:
    """Lend a yard with the services at work; what happens first they do not see."""
    path, probe = subject.path, subject.probe
    namespace = probe["metadata"]["labels"][QUEUE]
    here = Yard(api, namespace, path)
    act = ServingAct(
        namespace=namespace,
        framework="pod",
        path=path,
        make=lambda _name, _queue, _seconds: probe,
        templates=lambda obj: [obj],
        finished=None,
        active=runs,
        crd=foreign_crd("leaderworkerset"),
    )
    await prepare(api, act)
    config = tmp_path / "configuration.yaml"
    config.write_text(configuration(act))
    wanted = RunOptions(state=tmp_path, kubeconfig=Path(own_api), config=str(config))
    await subject.first(here)
    async with run_services(wanted, print) as running:
        yield here
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


async def test_each_pod_of_a_deployment_is_queued_by_itself(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    path, name = "/apis/apps/v1/namespaces/{}/deployments", "life-deployment"
    probe = of_apps("Deployment", "probe", name, 1)
    async with yard(api, own_api, tmp_path, Subject(path, probe)) as here:
        await here.create(of_apps("Deployment", "web", name, 3))
        await until(here.are("web", "Running", "Running", "waits"), "two of three fit")
        await here.check_placed("web")
        assert await here.scale("web", 2) == 200
        await until(here.are("web", "Running", "Running"), "it is scaled down")
        await here.create(of_apps("Deployment", "top", name, 1), "high")
        await until(here.are("top", "Running"), "the greater runs")
        await until(here.are("web", "Running", "waits"), "one was preempted and made again")
        await here.delete("top")
        await until(here.are("web", "Running", "Running"), "there is room again")
        await here.delete("web")
        await until(here.admitted(), "nothing holds quota")


async def test_a_stateful_set_is_one_workload_however_its_pods_come_and_go(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    path, name = "/apis/apps/v1/namespaces/{}/statefulsets", "life-stateful"
    probe = of_apps("StatefulSet", "probe", name, 1)
    async with yard(api, own_api, tmp_path, Subject(path, probe)) as here:
        await here.create(of_apps("StatefulSet", "db", name, 2))
        await until(here.are("db", "Running", "Running"), "one comes behind the other")
        await here.check_placed("db")
        await until(here.admitted("statefulset-db-"), "it has one Workload")
        body = msgspec.json.encode({"gracePeriodSeconds": 0})
        await api.request("DELETE", f"{here.pods}/db-1", body=body)
        await until(here.are("db", "Running", "Running"), "a pod made again is let go")
        assert await here.scale("db", 3) == 422
        await here.create(of_apps("StatefulSet", "top", name, 1), "high")
        await until(here.are("top", "Running"), "the greater runs")
        await until(here.are("db", "waits"), "the lesser waits as a whole")
        await here.delete("top")
        await until(here.are("db", "Running", "Running"), "it is admitted again")
        assert await here.scale("db", 0) == 200
        await until(here.admitted(), "without replicas it holds no quota")
        assert await here.scale("db", 1) == 200
        await until(here.are("db", "Running"), "scaled up it is admitted")
        await here.delete("db")
        await until(here.admitted(), "nothing holds quota")


async def started_by_another(here: Yard) -> None:
    """Make a StatefulSet whose pods another controller lets go."""
    obj = of_apps("StatefulSet", "db", here.namespace, 2)
    obj["spec"]["podManagementPolicy"] = "Parallel"
    await here.create(obj)
    await until(here.are("db", "waits", "waits"), "its pods are gated")
    body = msgspec.json.encode({"spec": {"schedulingGates": None}})
    for name in ("db-0", "db-1"):
        where = f"{here.pods}/{name}"
        answer = await here.api.request("PATCH", where, body=body, content_type=MERGE_PATCH)
        assert answer.status == 200, answer.body
    await until(here.are("db", "Running", "Running"), "they run")


async def test_a_stateful_set_that_runs_already_is_taken_over_as_it_is(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    path, name = "/apis/apps/v1/namespaces/{}/statefulsets", "life-adopted"
    probe = of_apps("StatefulSet", "probe", name, 1)
    async with yard(api, own_api, tmp_path, Subject(path, probe, started_by_another)) as here:
        before = {obj["metadata"]["uid"] for obj in (await get(api, here.pods))["items"]}
        await until(here.admitted("statefulset-db-"), "it holds its quota")
        assert {obj["metadata"]["uid"] for obj in (await get(api, here.pods))["items"]} == before
        body = msgspec.json.encode({"gracePeriodSeconds": 0})
        await api.request("DELETE", f"{here.pods}/db-1", body=body)
        await until(here.are("db", "Running", "Running"), "a pod made again is let go")


async def test_each_group_of_a_leader_worker_set_is_a_workload(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    name = "life-lws"
    path = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{}/leaderworkersets"
    for manifest in numbering():
        await apply(api, manifest)
    probe = leader_worker_set("probe", name, 1)
    async with (
        yard(api, own_api, tmp_path, Subject(path, probe)) as here,
        leader_worker_sets(api, here.path),
    ):
        await here.create(leader_worker_set("llm", name, 2))
        await until(here.admitted("leaderworkerset-llm-0-"), "one group fits")
        first = here.are("llm", "Running", "Running", "waits", "waits")
        await until(first, "leader and worker of the first run, those of the second wait")
        await here.check_placed("llm")
        await here.create(leader_worker_set("top", name, 1), "high")
        await until(here.are("top", "Running", "Running"), "the greater runs")
        await until(here.are("llm", *["waits"] * 4), "the lesser waits")
        assert await here.scale("llm", 1) == 200
        await until(here.are("llm", "waits", "waits"), "it has one group")
        await here.delete("top")
        await until(here.are("llm", "Running", "Running"), "it is admitted again")
        shown = await here.workloads()
        assert [text.rpartition("-")[0] for text in shown] == ["leaderworkerset-llm-0"]
        await here.delete("llm")
        await until(here.admitted(), "nothing holds quota")
