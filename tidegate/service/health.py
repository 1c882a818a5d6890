"""/healthz, /readyz and /metrics over plain HTTP on asyncio: three pages need no framework."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from tidegate.urls import shown

REQUEST_BYTES_MAX = 16 * 1024
REQUEST_S = 5.0
PLAIN = "text/plain; charset=utf-8"

Ask = Callable[[], str]
"""Returns a fault in one line; empty: none."""


class Health:
    """A service's health; each part that may fail adds a check.

    A question is asked at each request, so it must be quick and without I/O: it reads a field.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._live = dict[str, Ask]()
        self._ready = dict[str, Ask]()

    def live_if(self, name: str, ask: Ask) -> None:
        """Answer /healthz with 503 while ``ask`` returns a fault that only a restart mends."""
        self._live[name] = ask

    def ready_if(self, name: str, ask: Ask) -> None:
        """Answer /readyz with 503 while ``ask`` returns why the service cannot work."""
        self._ready[name] = ask

    def page(self, path: str) -> tuple[int, str, bytes]:
        """Return status, content type and body of a page; 404 for any but the three."""
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest(self.registry)
        if path not in {"/healthz", "/readyz"}:
            return 404, PLAIN, b"There are /healthz, /readyz and /metrics.\n"
        ready = self._ready or {"service": _starting}
        checks = self._live if path == "/healthz" else {**self._live, **ready}
        wrong = [f"{name}: {fault}" for name, ask in checks.items() if (fault := ask())]
        return (503 if wrong else 200), PLAIN, (shown("\n".join(wrong)) or "ok").encode() + b"\n"


@asynccontextmanager
async def serve_health(health: Health, host: str, port: int) -> AsyncGenerator[int, None]:
    """Serve the pages while the context is open; yield the port, which 0 leaves to the system.

    Raises:
        OSError: the address is taken or not ours.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(REQUEST_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_response(health, head))
                    await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(answer, host, port, limit=REQUEST_BYTES_MAX)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await server.wait_closed()


def _starting() -> str:
    # A service that has not added its checks yet is not ready.
    return "starting"


def _response(health: Health, head: bytes) -> bytes:
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    method, target = (words[0], words[1]) if len(words) == 3 else ("", "")  # noqa: PLR2004 - method, target, version
    status, kind, body = health.page(target.partition("?")[0])
    if method not in {"GET", "HEAD"}:
        status, kind, body = 405, PLAIN, b"Only GET and HEAD.\n"
    reason = {200: "OK", 404: "Not Found", 405: "Method Not Allowed"}.get(
        status, "Service Unavailable"
    )
    status_line = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n"
    status_line += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return status_line.encode() + (b"" if method == "HEAD" else body)
