"""Requests of the benchmark's own, so many at once, and how fast an API server takes them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Coroutine, Iterable
from typing import Any

import msgspec
import psutil

from bench.cluster.objects import KUEUE, namespace, workload
from bench.virtual.loads import Arrival
from tidegate.cluster.install import apply
from tidegate.kube.ports import JSON, MERGE_PATCH, KubernetesApi

CLIENTS = 32
RAW = "raw"
CONFLICTS = "conflicts"
"""How writes are called that met a change; a few of them are this benchmark's own."""
_WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
_SERVER = ("kube-apiserver", "etcd")
_COUNT = re.compile(r"apiserver_request_total\{(.*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Writes a second that one client gets from the API server when nothing else asks."""

    creates_per_s: float
    patches_per_s: float  # of a Workload's status
    create_cpu_ms: float  # of API server and etcd, for one create
    patch_cpu_ms: float


async def send(
    api: KubernetesApi, method: str, path: str, body: bytes | None = None
) -> msgspec.Raw:
    """Send one request that has to succeed, and return the body of the answer."""
    content = MERGE_PATCH if method == "PATCH" else JSON
    answer = await api.request(method, path, body=body, content_type=content)
    assert answer.status < 400, f"{method} {path}: {answer.status} {answer.body!r}"  # noqa: PLR2004 - an error
    return msgspec.Raw(answer.body)


async def run_all(work: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Run them, ``CLIENTS`` at once."""
    coming = iter(work)

    async def client() -> None:
        for coroutine in coming:
            await coroutine

    async with asyncio.TaskGroup() as tasks:
        for _ in range(CLIENTS):
            tasks.create_task(client())


async def raw_rates(api: KubernetesApi, count: int) -> Rates:
    """Create ``count`` Workloads in a namespace of their own, patch their status, delete them."""
    await apply(api, namespace(RAW))
    path = f"/apis/{KUEUE}/namespaces/{RAW}/workloads"
    arrivals = [
        Arrival(at_us=0, name=f"raw-{number}", queue=0, cpu=1, priority=0, run_us=0)
        for number in range(count)
    ]
    began_s, began_cpu_s = time.perf_counter(), _cpu_s()
    await run_all(send(api, "POST", path, workload(arrival)) for arrival in arrivals)
    created_s, created_cpu_s = time.perf_counter(), _cpu_s()
    body = msgspec.json.encode({"status": {"conditions": [condition("Finished", "Succeeded")]}})
    await run_all(send(api, "PATCH", f"{path}/{arrival.name}/status", body) for arrival in arrivals)
    patched_s, patched_cpu_s = time.perf_counter(), _cpu_s()
    await send(api, "DELETE", path)
    return Rates(
        creates_per_s=count / (created_s - began_s),
        patches_per_s=count / (patched_s - created_s),
        create_cpu_ms=1e3 * (created_cpu_s - began_cpu_s) / count,
        patch_cpu_ms=1e3 * (patched_cpu_s - created_cpu_s) / count,
    )


def _cpu_s() -> float:
    """Return the CPU seconds that API server and etcd have taken; 0 if they run elsewhere."""
    processes = [
        process
        for process in psutil.Process().children(recursive=True)
        if process.name() in _SERVER
    ]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def condition(kind: str, reason: str) -> dict[str, str]:
    """Return a condition that holds."""
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": "",
        "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


async def write_counts(api: KubernetesApi) -> dict[str, int]:
    """Return how often each resource was written, as the API server counts it; and conflicts."""
    answer = await api.request("GET", "/metrics")
    fields = dict[str, int]()
    for labels, value in _COUNT.findall(answer.body.decode()):
        labels_of = dict(_LABEL.findall(labels))
        if labels_of["verb"] in _WRITES:
            resource = labels_of["resource"] + (
                f"/{labels_of['subresource']}" if labels_of["subresource"] else ""
            )
            name = CONFLICTS if labels_of["code"] == "409" else resource
            fields[name] = fields.get(name, 0) + int(float(value))
    return fields
