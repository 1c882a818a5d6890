"""The Jobs of the latency benchmark: their queue, and how they are submitted."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from bench.cluster.objects import KUEUE, namespace
from bench.cluster.sending import send
from tidegate.cluster.install import apply
from tidegate.kube.ports import KubernetesApi

Object = dict[str, Any]


async def make_queues(api: KubernetesApi, *, on_hold: bool) -> None:
    """Make a queue with room for everything; ``on_hold`` keeps it closed for now."""
    quota = {"name": "cpu", "nominalQuota": "1000000"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
    spec: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
    if on_hold:
        spec["stopPolicy"] = "Hold"
    await apply(api, namespace("bench"))
    local: Object = {"name": "main", "namespace": "bench"}
    for kind, meta, body in (
        ("ResourceFlavor", {"name": "any"}, {}),
        ("ClusterQueue", {"name": "bench"}, spec),
        ("LocalQueue", local, {"clusterQueue": "bench"}),
    ):
        await apply(api, {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": body})


async def submit(api: KubernetesApi, jobs: int, rate: float) -> None:
    """Create so many Jobs a second whether or not the last is there; 0: one after another."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with asyncio.TaskGroup() as tasks:
        for number in range(jobs):
            creating = tasks.create_task(create_job(api, "bench", f"job-{number}", queue="main"))
            if rate:
                await asyncio.sleep(began_s + (number + 1) / rate - loop.time())
            else:
                await creating


async def create_job(api: KubernetesApi, namespace: str, name: str, *, queue: str) -> None:
    """Create one suspended Job of one pod; without a queue only this process unsuspends it."""
    requests = {"requests": {"cpu": "1m"}}
    container = {"name": "c", "image": "i", "resources": requests}
    spec = {"restartPolicy": "Never", "containers": [container]}
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    body = {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"suspend": True, "template": {"spec": spec}},
    }
    await send(api, "POST", jobs_path(namespace), msgspec.json.encode(body))


def jobs_path(namespace: str) -> str:
    """Return where a namespace's Jobs are."""
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"
