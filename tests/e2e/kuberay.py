"""A stand-in for KubeRay and its autoscaler: clusters of jobs and services, and their pods.

The pods of a head and of a worker group are here those of a Job each, whose parallelism follows the
replicas. What the real one adds to a head is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.e2e.acts.ray import ROOTS
from tidegate.errors import ApiUnreachableError
from tidegate.jobs.templates.paths import value_at
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

Object = dict[str, Any]
LOOK_S = 0.2
NONE: Object = {}


@dataclass(frozen=True)
class Wanted:
    """The pods of a head or of a worker group."""

    pods: int
    template: Object
    there: bool


class KubeRay:
    """The controller of Ray's kinds in one namespace."""

    def __init__(self, api: KubernetesApi, namespace: str) -> None:
        self._api = api
        self._ray = f"/apis/ray.io/v1/namespaces/{namespace}"
        self._jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"

    def path(self, kind: str, name: str = "") -> str:
        """Return the path of one of Ray's objects, or of all of a kind."""
        return f"{self._ray}/{kind.lower()}s" + (f"/{name}" if name else "")

    async def run(self) -> None:
        """Do its work until cancelled."""
        while True:
            with suppress(ApiUnreachableError):
                for kind in ("RayJob", "RayService"):
                    for obj in await self._all(self.path(kind)):
                        await self._lead(kind, obj)
                for obj in await self._all(self.path("RayCluster")):
                    await self._keep(obj)
            await asyncio.sleep(LOOK_S)

    async def scale(self, name: str, replicas: int) -> None:
        """Change the workers of a cluster, as Ray's autoscaler does."""
        path = self.path("RayCluster", name)
        groups = (await self._read(path))["spec"]["workerGroupSpecs"]
        changed = [{**group, "replicas": replicas} for group in groups]
        await self._patch(path, {"spec": {"workerGroupSpecs": changed}})

    async def _lead(self, kind: str, obj: Object) -> None:
        """Let a job or a service have its cluster, or none."""
        root, name = ROOTS[kind], f"{obj['metadata']['name']}-x"
        cluster = await self._read(self.path("RayCluster", name))
        suspended = obj["spec"].get("suspend") or value_at(obj, (*root, "suspend"))
        if suspended and cluster:
            await self._delete(self.path("RayCluster", name))
        elif not suspended and not cluster:
            made = {"apiVersion": "ray.io/v1", "kind": "RayCluster"}
            spec = value_at(obj, root)
            await self._make(self.path("RayCluster"), {**made, "spec": spec}, obj, name)
        has = {} if suspended else {"rayClusterName": name}
        has |= {"rayClusterStatus": cluster.get("status", NONE)} if cluster else {}
        ready = value_at(cluster, ("status", "state")) == "ready"
        fields: Object = {**has, "jobDeploymentStatus": "Running" if cluster else "Suspended"}
        if kind == "RayService":
            served = {"activeServiceStatus": has} if has else NONE  # else what was there stays
            fields = {**served, "conditions": [_ready()] if ready else []}
        await self._tell(self.path(kind, obj["metadata"]["name"]), obj, fields)

    async def _keep(self, cluster: Object) -> None:
        """Let a cluster have its pods, or none."""
        meta, spec = cluster["metadata"], cluster["spec"]
        going = bool(spec.get("suspend")) or "deletionTimestamp" in meta
        head = Wanted(1, spec["headGroupSpec"]["template"], there=not going)
        wanted = {"head": head} | {
            spec["groupName"]: Wanted(spec.get("replicas", 0), spec["template"], there=not going)
            for spec in spec["workerGroupSpecs"]
        }
        there = {obj["metadata"]["name"]: obj for obj in await self._all(self._jobs)}
        active = {role: there.get(f"{meta['name']}-{role}") for role in wanted}
        for role, value in wanted.items():
            await self._group(cluster, role, value, active[role])
        await self._tell(self.path("RayCluster", meta["name"]), cluster, _standing(active, going))

    async def _group(self, cluster: Object, role: str, wanted: Wanted, job: Object | None) -> None:
        name = f"{cluster['metadata']['name']}-{role}"
        if job is None and wanted.there:
            made = {"spec": {"parallelism": wanted.pods, "template": wanted.template}}
            await self._make(self._jobs, made, cluster, name)
        elif job is not None and not wanted.there:
            await self._delete(f"{self._jobs}/{name}")
        elif job is not None and job["spec"]["parallelism"] != wanted.pods:
            await self._patch(f"{self._jobs}/{name}", {"spec": {"parallelism": wanted.pods}})

    async def _make(self, path: str, made: Object, above: Object, name: str) -> None:
        reference = {key: above["metadata"][key] for key in ("name", "uid")}
        owner = {"apiVersion": "ray.io/v1", "kind": above["kind"], "controller": True}
        labels = {key: above["metadata"].get(key, NONE) for key in ("labels", "annotations")}
        marks = {"annotations": _without_ours(labels["annotations"]), "labels": labels["labels"]}
        metadata = {**marks, "name": name, "ownerReferences": [{**owner, **reference}]}
        await self._api.request(
            "POST", path, body=msgspec.json.encode({**made, "metadata": metadata})
        )

    async def _tell(self, path: str, obj: Object, actual_obj: Object) -> None:
        if actual_obj != obj.get("status", {}):
            left = {key: None for key in obj.get("status", {}) if key not in actual_obj}
            await self._patch(f"{path}/status", {"status": {**left, **actual_obj}})

    async def _all(self, path: str) -> list[Object]:
        kind = (fields := await self._read(path)).get("kind", "").removesuffix("List")
        return [{**obj, "kind": kind} for obj in fields.get("items", [])]

    async def _read(self, path: str) -> Object:
        answer = await self._api.request("GET", path)
        return msgspec.json.decode(answer.body, type=dict) if answer.status == 200 else {}

    async def _patch(self, path: str, body: Object) -> None:
        text = msgspec.json.encode(body)
        await self._api.request("PATCH", path, body=text, content_type=MERGE_PATCH)

    async def _delete(self, path: str) -> None:
        body = msgspec.json.encode({"propagationPolicy": "Background"})
        await self._api.request("DELETE", path, body=body)


@asynccontextmanager
async def kuberay(api: KubernetesApi, namespace: str) -> AsyncGenerator[KubeRay]:
    """Let the controller work beside a test."""
    kube_ray = KubeRay(api, namespace)
    task = asyncio.create_task(kube_ray.run())
    yield kube_ray
    assert not task.done(), task.exception()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _standing(jobs: dict[str, Object | None], going: bool) -> Object:  # noqa: FBT001 - a state
    """Return the status of a cluster of these Jobs, by role."""
    status = {role: {} if job is None else job.get("status", {}) for role, job in jobs.items()}
    pods = {role: value.get("active", 0) for role, value in status.items()}
    head = pods.pop("head")
    if going and not (head or any(pods.values()) or any(jobs.values())):
        return {"state": "suspended"}
    ready = {"state": "ready"} if status["head"].get("ready") else {}
    return {**ready, "availableWorkerReplicas": sum(pods.values())}


def _without_ours(annotations: Object) -> Object:
    return {key: value for key, value in annotations.items() if not key.startswith("tidegate.dev/")}


def _ready() -> Object:
    at = "2026-01-01T00:00:00Z"
    fields = {"type": "Ready", "status": "True", "reason": "R", "message": "m"}
    return {**fields, "lastTransitionTime": at}
