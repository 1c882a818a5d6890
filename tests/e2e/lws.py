"""A stand-in for the controller of LeaderWorkerSets, and for the webhook that numbers their pods.

It makes what the real one makes: a StatefulSet of all leaders, and behind each leader one of its
workers, which goes with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any

import msgspec

from tidegate.errors import ApiUnreachableError
from tidegate.kinds.policies.forms import (
    Manifest,
    Scope,
    Target,
    apply_patch,
    label,
    mutating_policy,
)
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

Object = dict[str, Any]
LABELS = "leaderworkerset.sigs.k8s.io"
NAME, GROUP, WORKER = f"{LABELS}/name", f"{LABELS}/group-index", f"{LABELS}/worker-index"
SETS = "/apis/apps/v1/namespaces/{}/statefulsets"
_LOOK_S = 0.2


def numbering() -> list[Manifest]:
    """Return the policy that does what the webhook does: a pod's numbers are those of its name."""
    last = "object.metadata.name.split('-')[size(object.metadata.name.split('-')) - 1]"
    key = f"({label(WORKER)} == '0' ? '{GROUP}' : '{WORKER}')"
    patch = (
        "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey("
        f"{key}), value: {last}}}]"
    )
    pods = Target(group="", versions=("v1",), resources=("pods",), operations=("CREATE",))
    scope = Scope(targets=[pods], conditions={"of-a-set": f"{label(NAME)} != ''"})
    return mutating_policy("test-numbers-leader-worker-sets", scope, [apply_patch(patch)])


@asynccontextmanager
async def leader_worker_sets(api: KubernetesApi, path: str) -> AsyncGenerator[None]:
    """Let the controller work beside a test, on the objects of a collection."""

    async def run() -> None:
        while True:
            with suppress(ApiUnreachableError):
                for obj in (await _read(api, path)).get("items", []):
                    await _reconcile(api, obj)
            await asyncio.sleep(_LOOK_S)

    task = asyncio.create_task(run())
    yield
    assert not task.done(), task.exception()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _reconcile(api: KubernetesApi, obj: Object) -> None:
    meta, spec = obj["metadata"], obj["spec"]["leaderWorkerTemplate"]
    replicas = obj["spec"].get("replicas", 1)
    leaders = spec.get("leaderTemplate") or spec["workerTemplate"]
    marks = {NAME: meta["name"], WORKER: "0"}
    await _put(api, meta["namespace"], _set(meta["name"], obj, leaders, marks, replicas))
    pods = f"/api/v1/namespaces/{meta['namespace']}/pods"
    for index in range(replicas if spec.get("size", 1) > 1 else 0):
        leader = await _read(api, f"{pods}/{meta['name']}-{index}")
        if leader.get("kind") == "Pod" and "deletionTimestamp" not in leader["metadata"]:
            marks = {NAME: meta["name"], GROUP: str(index)}
            name = f"{meta['name']}-{index}"
            made = _set(name, leader, spec["workerTemplate"], marks, spec["size"] - 1)
            made["spec"]["ordinals"] = {"start": 1}
            await _put(api, meta["namespace"], made)


def _set(name: str, owner: Object, template: Object, marks: Object, replicas: int) -> Object:
    held = template.get("metadata", {})
    metadata = {**held, "labels": {**held.get("labels", {}), **marks, "set": name}}
    controller = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    return {
        "metadata": {"name": name, "ownerReferences": [controller]},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"set": name}},
            "template": {**template, "metadata": metadata},
        },
    }


async def _put(api: KubernetesApi, namespace: str, made: Object) -> None:
    path = SETS.format(namespace)
    answer = await api.request("POST", path, body=msgspec.json.encode(made))
    if answer.status == HTTPStatus.CONFLICT:
        body = msgspec.json.encode({"spec": {"replicas": made["spec"]["replicas"]}})
        where = f"{path}/{made['metadata']['name']}"
        await api.request("PATCH", where, body=body, content_type=MERGE_PATCH)


async def _read(api: KubernetesApi, path: str) -> Object:
    document: Object = msgspec.json.decode((await api.request("GET", path)).body)
    return document
