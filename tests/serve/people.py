"""The API server as the reviews know it: whose token it is, and what they may.

A simulated form of ``tidegate.kube.ports.KubernetesApi`` for the two reviews alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from tidegate.errors import ApiUnreachableError
from tidegate.kube.ports import JSON, Response

RIGHTS: dict[str, set[str]] = {
    "root": {"*"},
    "ann": {"list workloads a", "get workloads a"},
    "jobs": {"get jobs a"},  # may get Jobs of a, and no Workloads
    "queues": {"list clusterqueues", "get clusterqueues/pendingworkloads"},
    "local": {"get localqueues/pendingworkloads a"},
    "job": {f"get workloads {name}" for name in ("job", "batch", "workload")},
    "guest": set(),
}
"""What each user may do: verb, resource and namespace."""


class ReviewingApi:
    """Answers TokenReviews and SubjectAccessReviews; a token is its owner's name."""

    def __init__(self) -> None:
        self.rights = {name: set(names) for name, names in RIGHTS.items()}
        self.asked = Counter[str]()
        self.answers = True

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,  # noqa: ARG002 - as the port has it
        body: bytes | None = None,
        content_type: str = JSON,  # noqa: ARG002 - as the port has it
    ) -> Response:
        assert method == "POST"
        if not self.answers:
            raise ApiUnreachableError("the API server is away")
        kind = path.rpartition("/")[2]
        self.asked[kind] += 1
        spec = msgspec.json.decode(body or b"")["spec"]
        status = self._token(spec) if kind == "tokenreviews" else self._access(spec)
        return Response(201, msgspec.json.encode({"spec": spec, "status": status}))

    def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError(path, query)

    def _token(self, spec: dict[str, Any]) -> dict[str, Any]:
        name = spec["token"]
        if name not in self.rights:
            return {"authenticated": False, "error": "who is that?"}
        return {"authenticated": True, "user": {"username": name, "groups": ["people"]}}

    def _access(self, spec: dict[str, Any]) -> dict[str, Any]:
        asked = spec["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked["subresource"])))
        wanted = " ".join(filter(None, (asked["verb"], resource, asked["namespace"])))
        rights = self.rights.get(spec["user"], set())
        return {"allowed": bool({wanted, "*"} & rights)}
