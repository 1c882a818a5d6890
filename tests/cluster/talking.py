"""What the contract suite says to a server: JSON requests in a namespace of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tidegate.kube.ports import JSON, MERGE_PATCH, KubernetesApi

Object = dict[str, Any]
DEADLINE_S = 60
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Talk:
    """One server, one namespace on it, and a way to make the server forget its history."""

    def __init__(self, api: KubernetesApi, namespace: str, compact: Callable[[], None]) -> None:
        self.api, self.namespace, self.compact = api, namespace, compact
        self.jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self.leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self.maps = f"/api/v1/namespaces/{namespace}/configmaps"

    async def send(
        self, method: str, path: str, body: object = None, content: str = JSON, **query: str
    ) -> tuple[int, Object]:
        """Send a request; return the status and the answer."""
        data = None if body is None else msgspec.json.encode(body)
        answer = await self.api.request(
            method, path, query=query or None, body=data, content_type=content
        )
        if not answer.body.startswith(b"{"):  # such as a path of no group
            return answer.status, {"message": answer.body.decode()}
        return answer.status, msgspec.json.decode(answer.body)

    async def get(self, path: str, **query: str) -> Object:
        status, fields = await self.send("GET", path, **query)
        assert status == 200, fields
        return fields

    async def make(self, path: str, body: Object) -> Object:
        """Create an object and return it."""
        status, made = await self.send("POST", path, body)
        assert status == 201, made
        return made

    async def merge(self, path: str, patch: Object) -> Object:
        status, changed = await self.send("PATCH", path, patch, MERGE_PATCH)
        assert status == 200, changed
        return changed

    async def remove(self, path: str, **query: str) -> Object:
        query.setdefault("propagationPolicy", "Background")
        status, left = await self.send("DELETE", path, **query)
        assert status == 200, left
        return left

    async def until(self, path: str, holds: Callable[[Object], object]) -> Object:
        """Return an object once something holds of it."""
        fields: Object = await eventually(lambda: self.get(path), holds)
        return fields

    async def until_gone(self, path: str) -> None:
        await eventually(lambda: self.send("GET", path), lambda answer: answer[0] == 404)

    @asynccontextmanager
    async def watch(self, path: str, **query: str) -> AsyncIterator[AsyncIterator[Object]]:
        """Open a watch; iterate its events."""
        query.setdefault("timeoutSeconds", str(DEADLINE_S))
        async with asyncio.timeout(DEADLINE_S), self.api.watch(path, query) as lines:
            yield (msgspec.json.decode(line) async for line in lines)


async def eventually(ask: Callable[[], Awaitable[Any]], holds: Callable[[Any], object]) -> Any:  # noqa: ANN401 - whatever is asked
    """Ask until something holds of the answer, and return it."""
    async with asyncio.timeout(DEADLINE_S):
        while not holds(answer := await ask()):
            await asyncio.sleep(0.05)
    return answer


def condition_status(obj: Object, condition: str) -> str:
    """Return a condition's status, or an empty text."""
    conditions = obj.get("status", {}).get("conditions", [])
    return next(
        (
            candidate_condition["status"]
            for candidate_condition in conditions
            if candidate_condition["type"] == condition
        ),
        "",
    )


def container(**requests: str) -> Object:
    return {"name": "main", "image": "example.com/work:1", "resources": {"requests": requests}}


def job(name: str, seconds: str = "0.2", exit_code: str = "0", **spec: Any) -> Object:  # noqa: ANN401 - any field
    """Return a Job whose pods run for a while and end as told."""
    annotations = {"simulate/seconds": seconds, "simulate/exit-code": exit_code}
    pod = {"restartPolicy": "Never", "containers": [container(cpu="100m")]}
    template = {"metadata": {"annotations": annotations}, "spec": pod}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def pod(name: str, **spec: Any) -> Object:  # noqa: ANN401 - any field
    """Return a pod that runs until it is deleted."""
    metadata = {"name": name, "annotations": {"simulate/seconds": "3600"}}
    return {"metadata": metadata, "spec": {"containers": [container(cpu="100m")], **spec}}


def crd(plural: str, spec: Object, **version: Any) -> Object:  # noqa: ANN401 - any field
    """Return a namespaced CRD of group example.com with a schema for its spec."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": anything}}
    first = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    first |= {"schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [first],
        },
    }


async def pods_of(kube: Talk) -> list[Object]:
    """Return the pods of the namespace that is talked about."""
    documents: list[Object] = (await kube.get(kube.pods))["items"]
    return documents
