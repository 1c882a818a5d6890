"""Every server that the contract suite holds to one behaviour, each a parameter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from apiserver.api import EmbeddedApi
from apiserver.http import serve
from tests.cluster.talking import CRDS, Object, Talk, crd, eventually
from tests.parts import kubernetes
from tests.parts.kubernetes import make_namespace
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

embedded_api, real_api = kubernetes.embedded_api, kubernetes.real_api
own_plane, own_api = kubernetes.own_plane, kubernetes.own_api
SERVERS = ["in process", "over http", pytest.param("real", marks=pytest.mark.real)]


@pytest.fixture(params=SERVERS)
async def kube(request: pytest.FixtureRequest, embedded_api: EmbeddedApi) -> AsyncIterator[Talk]:
    """Lend one of the servers, with an empty namespace."""
    async with AsyncExitStack() as stack:
        if request.param == "real":
            access = Access(kubeconfig=request.getfixturevalue("real_api"))
            real = await stack.enter_async_context(connect(access))
            yield Talk(real, await make_namespace(real), lambda: None)
            return
        if request.param == "in process":
            yield Talk(embedded_api, await make_namespace(embedded_api), embedded_api.compact)
            return
        url = await stack.enter_async_context(serve(embedded_api))
        client = await stack.enter_async_context(connect(Access(url=url)))
        yield Talk(client, await make_namespace(client), embedded_api.compact)


class Things:
    """A CRD of a test's own, and where its objects are."""

    def __init__(self, kube: Talk, plural: str, spec: Object, **version: object) -> None:
        self.crd, self._kube = crd(plural, spec, **version), kube
        self.name = f"{CRDS}/{plural}.example.com"
        self.path = f"/apis/example.com/v1/namespaces/{kube.namespace}/{plural}"

    def one(self, name: str, **rest: object) -> Object:
        """Return an object of it to create."""
        head = {"apiVersion": "example.com/v1", "kind": self.crd["spec"]["names"]["kind"]}
        return {**head, "metadata": {"name": name}, **rest}

    async def define(self) -> Object:
        """Create the CRD if it does not exist, and return it once it is served."""
        status, answer = await self._kube.send("POST", CRDS, self.crd)
        assert status in (201, 409), answer
        await eventually(lambda: self._kube.send("GET", self.path), lambda got: got[0] == 200)
        return await self._kube.get(self.name)


SPEC: Object = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "color": {"type": "string", "enum": ["red", "blue"]},
        "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "parts": {
            "type": "array",
            "maxItems": 2,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "count": {"type": "integer", "default": 1},
                },
            },
        },
        "amount": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "maybe": {"type": "string", "nullable": True},
    },
}


@pytest.fixture
async def things(kube: Talk) -> Things:
    """Lend a CRD with defaults and bounds that is served; it is shared, its objects are not."""
    made = Things(kube, "things", SPEC)
    await made.define()
    return made
