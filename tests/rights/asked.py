"""Requests as rights: which verb on which resource each asks for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tidegate.cluster.install import read_documents
from tidegate.kube.ports import JSON, KubernetesApi, Response

RBAC = Path(__file__).parents[2] / "deploy" / "rbac"


class Right(NamedTuple):
    """One verb on one resource."""

    group: str
    resource: str  # with its subresource: jobs/status
    verb: str


class Recorded:
    """``KubernetesApi`` that notes which rights were asked for."""

    def __init__(self, api: KubernetesApi) -> None:
        self.api = api
        self.asked = set[Right]()
        self.refused = set[Right]()
        self.invalid = list[bytes]()  # what the schema, its rules or a policy did not like

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        right = right_of(method, path)
        self.asked.add(right)  # before the answer: what it does may be seen before it is answered
        answer = await self.api.request(
            method, path, query=query, body=body, content_type=content_type
        )
        if answer.status == 403 and b"NamespaceTerminating" not in answer.body:  # another test's
            self.refused.add(right)
        if answer.status == 422:
            self.invalid.append(answer.body)
        return answer

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        self.asked.add(right_of("WATCH", path))
        async with self.api.watch(path, query) as lines:
            yield lines


def right_of(method: str, path: str) -> Right:
    """Return the right that a request needs."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource, name, sub = rest[0], rest[1:2], rest[2:3]
    verbs = {
        "POST": "create",
        "PUT": "update",
        "PATCH": "patch",
        "DELETE": "delete",
        "WATCH": "watch",
    }
    verb = verbs.get(method, "get" if name else "list")
    return Right(group, "/".join([resource, *sub]), verb)


def role(name: str) -> set[Right]:
    """Return the rights of a ClusterRole as the manifests give them."""
    manifests = read_documents("---\n".join(path.read_text() for path in RBAC.glob("*.yaml")))
    (rules,) = [
        obj["rules"]
        for obj in manifests
        if obj["kind"] == "ClusterRole" and obj["metadata"]["name"] == name
    ]
    return rights(rules)


def rights(rules: list[dict[str, list[str]]]) -> set[Right]:
    """Return the rights that the rules of a role give."""
    return {
        Right(group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
