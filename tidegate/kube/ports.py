"""What ingest and actuator need from a Kubernetes API server.

The real form is over aiohttp; the simulated one is the embedded API server's own state,
called without a socket. Both pass one contract suite.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
JSON = "application/json"


class Response(msgspec.Struct, frozen=True):
    """An API server's answer, unread but for its status."""

    status: int
    body: bytes


class KubernetesApi(Protocol):
    """Raw requests to one API server; paths begin with ``/api`` or ``/apis``."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request and return the answer, whatever its status.

        Raises:
            ApiUnreachableError: no answer came: refused, reset or timed out.
        """
        ...

    def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch; iterate its lines, one JSON event each, until the server ends it.

        Raises:
            ApiUnreachableError: the connection failed or broke.
            ApiStatusError: the server answered with an error instead of a watch.
        """
        ...
