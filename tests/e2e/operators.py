"""Stand-ins for the controllers of foreign kinds: they make child Jobs and say how those stand.

A real one reacts to watches and keeps its children; these look again and again, and a suspended
parent has no children. That is all that a queue sees of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from tidegate.errors import ApiUnreachableError
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

Object = dict[str, Any]
Children = Callable[[Object], list[tuple[str, Object]]]
"""Of a parent that may run: a name and a Job's metadata and spec, for each child."""
Status = Callable[[Object, list[Object]], Object]
"""The parent's status, from its child Jobs that are there."""
LOOK_S = 0.2


@dataclass(frozen=True)
class Operator:
    """One foreign kind's controller."""

    path: str  # of all parents in the test's namespace
    children: Children
    status: Status
    ended: Callable[[Object], bool]

    async def run(self, api: KubernetesApi) -> None:
        """Do its work until cancelled."""
        while True:
            with suppress(ApiUnreachableError):
                await self._look(api)
            await asyncio.sleep(LOOK_S)

    async def _look(self, api: KubernetesApi) -> None:
        for parent in (await _read(api, self.path)).get("items", []):
            uid = parent["metadata"]["uid"]
            there = [job for job in await _jobs(api, parent) if _owned(job, uid)]
            wanted = {} if self.ended(parent) else dict(self.children(parent))
            for job in there if not wanted and not self.ended(parent) else ():
                await _remove(api, job)
            known = {job["metadata"]["name"] for job in there}
            for name, made in wanted.items():
                if name not in known:
                    await _create(api, parent, name, made)
            await self._tell(api, parent, there)

    async def _tell(self, api: KubernetesApi, parent: Object, there: list[Object]) -> None:
        obj = {"status": self.status(parent, there)}
        if obj["status"] != parent.get("status", {}):
            path = f"{self.path}/{parent['metadata']['name']}/status"
            body = msgspec.json.encode(obj)
            await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)


@asynccontextmanager
async def at_work(api: KubernetesApi, operator: Operator | None) -> AsyncGenerator[None]:
    """Let an operator work beside a test; None: the kind's controller is there."""
    if operator is None:
        yield
        return
    task = asyncio.create_task(operator.run(api))
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def put_in(template: Object, given: Object) -> Object:
    """Return a pod template with what another one says of metadata and places, as controllers do.

    Labels, annotations and node selectors go over those that are there, tolerations and scheduling
    gates behind them.
    """
    meta, spec = dict(template.get("metadata", {})), dict(template["spec"])
    for field in ("labels", "annotations"):
        if value := given.get("metadata", {}).get(field):
            meta[field] = {**meta.get(field, {}), **value}
    if value := given.get("spec", {}).get("nodeSelector"):
        spec["nodeSelector"] = {**spec.get("nodeSelector", {}), **value}
    for field in ("tolerations", "schedulingGates"):
        if value := given.get("spec", {}).get(field):
            spec[field] = [*spec.get(field, ()), *value]
    return {"metadata": meta, "spec": spec}


def indexed(pods: int, template: Object, **labels: str) -> Object:
    """Return the spec of a Job of so many numbered pods, each with these labels as well."""
    size = {"completionMode": "Indexed", "parallelism": pods, "completions": pods}
    return {**size, "template": put_in(template, {"metadata": {"labels": labels}})}


def pods_asked(jobs: list[Object]) -> int:
    """Return how many pods Jobs are to have at once."""
    return sum(job["spec"].get("parallelism", 1) for job in jobs)


def count(jobs: list[Object], field: str) -> int:
    """Return the sum of a field over the status of Jobs."""
    return sum(job.get("status", {}).get(field, 0) for job in jobs)


def _jobs_path(parent: Object) -> str:
    return f"/apis/batch/v1/namespaces/{parent['metadata']['namespace']}/jobs"


async def _jobs(api: KubernetesApi, parent: Object) -> list[Object]:
    items: list[Object] = (await _read(api, _jobs_path(parent))).get("items", [])
    return items


def _owned(job: Object, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in job["metadata"].get("ownerReferences", ()))


async def _create(api: KubernetesApi, parent: Object, name: str, made: Object) -> None:
    owner = {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"],
        "controller": True,
    }
    metadata = {**made.get("metadata", {}), "name": name, "ownerReferences": [owner]}
    body = msgspec.json.encode({"metadata": metadata, "spec": made["spec"]})
    await api.request("POST", _jobs_path(parent), body=body)


async def _remove(api: KubernetesApi, job: Object) -> None:
    path = f"{_jobs_path(job)}/{job['metadata']['name']}"
    body = msgspec.json.encode({"propagationPolicy": "Background"})
    await api.request("DELETE", path, body=body)


async def _read(api: KubernetesApi, path: str) -> Object:
    document: Object = msgspec.json.decode((await api.request("GET", path)).body)
    return document
