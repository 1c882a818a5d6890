"""Quota comes back from Workloads without a job, and is not given to those of unknown jobs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.e2e.cast import KUEUE, Object, events_of, job_of, make_queues, post, submit, until
from tests.e2e.living import Living
from tests.e2e.ordeal import alone
from tidegate.cluster.running import run_services
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
NAMESPACE = "behind"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
OWNER_NOT_FOUND = "Finished=True OwnerNotFound"
FOREVER_S = 3_600.0
STATEFUL_SET: Object = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "db"},
    "spec": {
        "replicas": 0,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": {
            "metadata": {"labels": {"app": "db"}},
            "spec": {"containers": [{"name": "c", "image": "none"}]},
        },
    },
}


async def workload_of(api: KubernetesApi, namespace: str, name: str) -> str:
    """Return the name of the Workload of a Job, once it is admitted."""
    uid = (await job_of(api, namespace, name))["metadata"]["uid"]
    path = f"/apis/{KUEUE}/namespaces/{namespace}/workloads"
    query = {"labelSelector": f"kueue.x-k8s.io/job-uid={uid}"}
    names = list[str]()

    async def is_admitted() -> bool:
        items = msgspec.json.decode((await api.request("GET", path, query=query)).body)["items"]
        names[:] = [obj["metadata"]["name"] for obj in items if obj.get("status", {})]
        job = await job_of(api, namespace, name)
        return bool(names) and job["status"].get("active", 0) > 0

    await until(is_admitted, f"{name} runs")
    return names[0]


async def runs(api: KubernetesApi, name: str, cpu: str) -> str:
    """Make a Job, and return its Workload once it runs."""
    await submit(api, NAMESPACE, name, cpu=cpu, seconds=FOREVER_S)
    return await workload_of(api, NAMESPACE, name)


async def delete(api: KubernetesApi, path: str, **options: str) -> None:
    body = msgspec.json.encode(options) if options else None
    answer = await api.request("DELETE", path, body=body)
    assert answer.status in (200, 202), answer.body


async def is_reported(api: KubernetesApi, namespace: str, about: str) -> bool:
    path = f"/api/v1/namespaces/{namespace}/events"
    query = {"fieldSelector": f"involvedObject.name={about},reason=OwnerNotManaged"}
    answer = await api.request("GET", path, query=query)
    return bool(msgspec.json.decode(answer.body)["items"])


def submitted(ledger: str) -> list[str]:
    """Return the kinds of what was queued here, once each time."""
    refs = [event.job for event in events_of(ledger, WorkloadSubmitted)]
    return [ref.kind for ref in refs if ref.namespace == NAMESPACE]


async def leave(api: KubernetesApi, living: Living) -> None:
    """Make the Workloads that Kueue left of a RayJob and of a StatefulSet, in its words."""
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets"
    made = msgspec.json.decode((await post(api, path, STATEFUL_SET)).body)["metadata"]
    ray = {"apiVersion": "ray.io/v1alpha1", "kind": "RayJob", "name": "ray", "uid": "0000-ray"}
    stateful = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": made["uid"]}
    for name, owner in (("rayjob-ray", ray), ("statefulset-db", stateful)):
        about = {
            "ownerReferences": [{**owner, "controller": True}],
            "labels": {"kueue.x-k8s.io/job-uid": owner["uid"]},
        }
        await living.make(name, cpu="2", about=about)


async def test_no_workload_holds_quota_without_a_job_of_ours(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {NAMESPACE: "2"})
    living = Living(api, NAMESPACE)
    await leave(api, living)
    async with run_services(alone(tmp_path, own_api), print) as running:
        first = await runs(api, "first", "1")  # what Kueue left holds nothing
        second = await runs(api, "second", "1")
        for name in ("rayjob-ray", "statefulset-db"):
            await until(partial(is_reported, api, NAMESPACE, name), f"an Event on {name}")
        await delete(api, f"{JOBS}/first")  # without options a Job leaves its Workload behind
        await delete(api, f"{JOBS}/second", propagationPolicy="Orphan")  # --cascade=orphan
        third = await runs(api, "third", "2")
        for name in (first, second):
            await living.shows(name, OWNER_NOT_FOUND)
        await delete(api, f"{JOBS}/third")
        await delete(api, living.path(third))  # as kueuectl deletes a Workload and its Job
        await runs(api, "fourth", "2")
        assert submitted(running.ledger) == ["batch/job"] * 4
