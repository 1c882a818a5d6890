"""A Job is stopped whose pod is on a node that does not answer: its quota is free nevertheless."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.cast import events_of, eventually, job_of, make_queues, post, submit, until
from tests.e2e.ordeal import alone
from tidegate.cluster.running import run_services
from tidegate.contracts.decisions import WorkloadPending
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = [pytest.mark.real]
Object = dict[str, Any]
NODE, GRACE_S = "lost", 2
JOBS = "/apis/batch/v1/namespaces/lost/jobs"
PODS = "/api/v1/namespaces/lost/pods"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/lost/workloads"


async def make_node(api: KubernetesApi) -> None:
    """Create a node that is ready and that no kubelet serves."""
    size = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    ready = {"type": "Ready", "status": "True", "reason": "Test"}
    node: Object = {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}}
    assert (await post(api, "/api/v1/nodes", node)).status == 201
    status = {"status": {"capacity": size, "allocatable": size, "conditions": [ready]}}
    await change(api, f"/api/v1/nodes/{NODE}/status", status)


async def change(api: KubernetesApi, path: str, patch: Object) -> None:
    body = msgspec.json.encode(patch)
    answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    assert answer.status == 200, answer.body


async def items(api: KubernetesApi, path: str) -> list[Object]:
    document: Object = msgspec.json.decode((await api.request("GET", path)).body)
    listed: list[Object] = document["items"]
    return listed


def stuck() -> Object:
    """Return a Job for that node."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        "nodeSelector": {"kubernetes.io/hostname": NODE},
        "terminationGracePeriodSeconds": GRACE_S,
    }
    labels = {"kueue.x-k8s.io/queue-name": "lost"}
    return {"metadata": {"name": "stuck", "labels": labels}, "spec": {"template": {"spec": pod}}}


async def start_on_the_lost_node(api: KubernetesApi) -> None:
    """Submit a Job and wait until its pod runs on the node."""

    async def is_bound() -> bool:
        pods = await items(api, PODS)
        return bool(pods) and bool(pods[0]["spec"].get("nodeName"))

    assert (await post(api, JOBS, stuck())).status == 201
    await until(is_bound, "the pod is bound to the node")
    [pod] = await items(api, PODS)
    path = f"{PODS}/{pod['metadata']['name']}/status"
    await change(api, path, {"status": {"phase": "Running"}})


async def deactivate(api: KubernetesApi) -> None:
    """Deactivate the Workload of that Job."""
    names = [workload["metadata"]["name"] for workload in await items(api, WORKLOADS)]
    [name] = [name for name in names if name.startswith("job-stuck-")]
    await change(api, f"{WORKLOADS}/{name}", {"spec": {"active": False}})


async def test_a_stopped_jobs_quota_is_free_although_its_node_does_not_answer(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async def runs() -> bool:
        return bool((await job_of(api, "lost", "next")).get("status", {}).get("active"))

    await make_queues(api, {"lost": "1"})
    await make_node(api)
    async with run_services(alone(tmp_path, own_api), print) as running:
        await start_on_the_lost_node(api)
        await submit(api, "lost", "next", cpu="1", seconds=3_600)
        await eventually(lambda: bool(events_of(running.ledger, WorkloadPending)), "one waits")
        await deactivate(api)
        await until(runs, "the other Job runs")
        pods = await items(api, PODS)
        left = [pod["spec"] for pod in pods if "deletionTimestamp" in pod["metadata"]]
        assert [spec["nodeName"] for spec in left] == [NODE]
