"""What each node does: reports Ready, renews its lease, and runs its pods.

Written for the real API server: everything is found again after a restart of either side, since
each pod's beginning stands in its own status.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import msgspec

from tidegate.cluster.pod_lifetimes import (
    KILLED,
    ended_status,
    exit_code_of,
    is_finished,
    run_us_of,
    running_status,
)
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.ports import JSON, MERGE_PATCH, KubernetesApi, Response

Object = dict[str, Any]
_PODS, _BOUND = "/api/v1/pods", {"fieldSelector": "spec.nodeName!="}
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_RENEW_S, _AGAIN_S, _WATCH_S = 10.0, 0.5, "240"


class SimulatedNodes:
    """Some nodes of one cluster, and the pods that are bound to them."""

    def __init__(self, api: KubernetesApi, names: tuple[str, ...], capacity: Object) -> None:
        self._api, self._names, self._capacity = api, names, capacity
        self._pod_ends = dict[str, asyncio.Event]()  # by pod uid: it is being deleted, or gone

    async def run(self) -> None:
        """Register the nodes and play their pods until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for name in self._names:
                tasks.create_task(self._run_node(name))
            async for kind, pod in self._pod_changes():
                self._handle_pod_event(tasks, kind, pod)

    def _handle_pod_event(self, tasks: asyncio.TaskGroup, kind: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if kind == "DELETED":
            if uid in self._pod_ends:
                self._pod_ends.pop(uid).set()
            return
        if pod["spec"].get("nodeName") in self._names and uid not in self._pod_ends:
            self._pod_ends[uid] = asyncio.Event()
            tasks.create_task(self._run_pod(pod, self._pod_ends[uid]))
        if uid in self._pod_ends and "deletionTimestamp" in pod["metadata"]:
            self._pod_ends[uid].set()

    async def _run_node(self, name: str) -> None:
        """Register a node and renew its lease, which the controller manager waits for."""
        ready = {"type": "Ready", "status": "True", "reason": "Simulated"}
        labels = {"kubernetes.io/hostname": name}
        status = {"capacity": self._capacity, "allocatable": self._capacity}
        while True:
            node = {"metadata": {"name": name, "labels": labels}}
            await self._send("POST", "/api/v1/nodes", node)
            now = _rfc3339(datetime.now(UTC))
            condition = ready | {"lastHeartbeatTime": now, "lastTransitionTime": now}
            patch = {"status": {**status, "conditions": [condition]}}
            await self._send("PATCH", f"/api/v1/nodes/{name}/status", patch, MERGE_PATCH)
            await self._renew_node_lease(name)

    async def _renew_node_lease(self, name: str) -> None:
        """Renew a lease for as long as its node is there, and says that it is ready.

        After a pause of the whole machine the controller manager may have said otherwise.
        """
        ready = True
        while ready:
            renewed = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
            spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed}
            patch = await self._send("PATCH", f"{_LEASES}/{name}", {"spec": spec}, MERGE_PATCH)
            if patch.status == HTTPStatus.NOT_FOUND:
                await self._send("POST", _LEASES, {"metadata": {"name": name}, "spec": spec})
            await asyncio.sleep(_RENEW_S)
            ready = _is_ready(await self._send("GET", f"/api/v1/nodes/{name}"))

    async def _run_pod(self, pod: Object, ends: asyncio.Event) -> None:
        if not is_finished(pod):
            began, left_s = _started_at(pod)
            if pod["status"].get("phase") != "Running":
                await self._write(pod, running_status(pod, began))
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await ends.wait()
            code = KILLED if ends.is_set() else exit_code_of(pod)
            await self._write(pod, ended_status(pod, code, began, _rfc3339(datetime.now(UTC))))
        await ends.wait()
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        await self._send("DELETE", _path(pod), options)

    async def _write(self, pod: Object, status: Object) -> None:
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        await self._send("PATCH", f"{_path(pod)}/status", patch, MERGE_PATCH)

    async def _send(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> Response:
        """Send until there is an answer that another try would not change."""
        content = None if body is None else msgspec.json.encode(body)
        while True:
            with suppress(ApiUnreachableError):
                answer = await self._api.request(
                    method, path, query=query, body=content, content_type=content_type
                )
                if (
                    answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
                    and answer.status != HTTPStatus.TOO_MANY_REQUESTS
                ):
                    return answer
            await asyncio.sleep(_AGAIN_S)

    async def _pod_changes(self) -> AsyncIterator[tuple[str, Object]]:
        """Yield every bound pod as it is now, then each change; list again after a break."""
        while True:
            listed = await self._send("GET", _PODS, query=_BOUND)
            pods = msgspec.json.decode(listed.body)
            uids = {pod["metadata"]["uid"] for pod in pods["items"]}
            for uid in [uid for uid in self._pod_ends if uid not in uids]:
                yield "DELETED", {"metadata": {"uid": uid}}
            for pod in pods["items"]:
                yield "ADDED", pod
            with suppress(ApiUnreachableError, ApiStatusError):
                async for event in self._watch(pods["metadata"]["resourceVersion"]):
                    yield event
            await asyncio.sleep(_AGAIN_S)

    async def _watch(self, version: str) -> AsyncIterator[tuple[str, Object]]:
        """Yield changes from a version on, until the server has forgotten where we are."""
        query = {**_BOUND, "timeoutSeconds": _WATCH_S, "allowWatchBookmarks": "true"}
        while True:
            query["resourceVersion"] = version
            async with self._api.watch(_PODS, query) as lines:
                async for line in lines:
                    event = msgspec.json.decode(line)
                    if event["type"] == "ERROR":
                        return
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        yield event["type"], event["object"]


def _is_ready(answer: Response) -> bool:
    if answer.status != HTTPStatus.OK:
        return answer.status != HTTPStatus.NOT_FOUND  # else nothing is known
    conditions = msgspec.json.decode(answer.body)["status"].get("conditions", ())
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def _path(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def _started_at(pod: Object) -> tuple[str, float]:
    """Return when a pod began, and for how many seconds it still runs."""
    now, run_s = datetime.now(UTC), run_us_of(pod) / 1_000_000
    for container in pod["status"].get("containerStatuses") or ():
        if running := (container.get("state") or {}).get("running"):
            began = datetime.fromisoformat(running["startedAt"])
            return running["startedAt"], max(0.0, run_s - (now - began).total_seconds())
    return _rfc3339(now), run_s


def _rfc3339(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
