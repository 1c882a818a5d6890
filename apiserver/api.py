"""The embedded API server without a socket: requests in, answers out.

``EmbeddedApi`` is the simulated form of ``tidegate.kube.ports.KubernetesApi``. Everything happens
inside ``call``, at once; the HTTP server and the controllers stand on the same object.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from random import Random

import msgspec

from apiserver.discovery import discovery_document
from apiserver.refusals import RefusedError
from apiserver.requests.paths import read_path
from apiserver.resources import NAMESPACES
from apiserver.routing import RequestContent, handle_request
from apiserver.watches import ChangeSignals, read_request, watch_lines
from apiserver.writes.event_lifetimes import EventLifetimes
from apiserver.writes.registry import Registry
from tidegate.errors import ApiStatusError
from tidegate.kube.ports import JSON, Response

FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class EmbeddedApi:
    """An API server in this process; see ``tidegate.kube.ports.KubernetesApi``.

    ``now_us`` is the clock in UTC microseconds; uids and generated names come from ``random``.
    ``history_max`` bounds the events kept a resource: a watch from before them gets 410.
    """

    def __init__(
        self, *, now_us: Callable[[], int], random: Random, history_max: int = 10_000
    ) -> None:
        self.registry = Registry(now_us, random, history_max)
        self._signals = ChangeSignals()
        lifetimes = EventLifetimes(self.registry.state, now_us)
        self.registry.state.listeners += [self._signals.notify, lifetimes.notify]
        for name in FIRST_NAMESPACES:
            self.registry.create(NAMESPACES, "", {"metadata": {"name": name}})

    def call(  # noqa: PLR0913 - a request is all of these
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        user: str = "",
    ) -> Response:
        """Answer one request now, whatever its status; watches are opened with ``watch``.

        ``user`` is the user that policies see; empty: the server's administrator.
        """
        discovery = discovery_document(self.registry.catalog, path) if method == "GET" else None
        if discovery is not None:
            return Response(200, discovery)
        try:
            target = read_path(self.registry.catalog, path)
            content = RequestContent(content_type, body or b"", user)
            return handle_request(self.registry, method, target, query or {}, content)
        except RefusedError as refusal:
            return Response(refusal.code, msgspec.json.encode(refusal.status()))

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        """See ``tidegate.kube.ports.KubernetesApi.request``; never unreachable."""
        await asyncio.sleep(0)  # as with a socket, others run before the answer is there
        return self.call(method, path, query=query, body=body, content_type=content_type)

    def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """See ``tidegate.kube.ports.KubernetesApi.watch``; never unreachable."""
        return self._watch(path, query)

    def compact(self) -> None:
        """Forget the history: every watch that resumes from before now gets 410."""
        self.registry.state.compact()
        self.registry.pages.clear()

    @asynccontextmanager
    async def _watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        try:
            request = read_request(read_path(self.registry.catalog, path), query)
        except RefusedError as refusal:
            raise ApiStatusError(refusal.code, refusal.message) from refusal
        async with aclosing(watch_lines(self.registry, self._signals, request)) as lines:
            yield lines
