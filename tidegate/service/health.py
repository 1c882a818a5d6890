"""/healthz, /readyz and /metrics over plain HTTP on asyncio: three pages need no framework."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import lru_cache

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from tidegate.urls import redacted

REQUEST_BYTES_MAX = 16 * 1024
REQUEST_S = 5.0
PLAIN = "text/plain; charset=utf-8"
_SUFFIXES = {"counter": "_total", "gauge": "", "histogram": ""}
"""Of each type that there is here: what its name has behind it."""

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

    def add_liveness_check(self, name: str, ask: Ask) -> None:
        """Answer /healthz with 503 while ``ask`` returns a fault that only a restart mends."""
        self._live[name] = ask

    def add_readiness_check(self, name: str, ask: Ask) -> None:
        """Answer /readyz with 503 while ``ask`` returns why the service cannot work."""
        self._ready[name] = ask

    async def page(self, path: str) -> tuple[int, str, bytes]:
        """Return status, content type and body of a page; 404 for any but the three."""
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, await metrics_page(self.registry)
        if path not in {"/healthz", "/readyz"}:
            return 404, PLAIN, b"There are /healthz, /readyz and /metrics.\n"
        ready = self._ready or {"service": _starting}
        checks = self._live if path == "/healthz" else {**self._live, **ready}
        wrong = [f"{name}: {fault}" for name, ask in checks.items() if (fault := ask())]
        return (503 if wrong else 200), PLAIN, (redacted("\n".join(wrong)) or "ok").encode() + b"\n"


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
                response = await _response(health, head)
                async with asyncio.timeout(REQUEST_S):
                    writer.write(response)
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


async def _response(health: Health, head: bytes) -> bytes:
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    method, target = (words[0], words[1]) if len(words) == 3 else ("", "")  # noqa: PLR2004 - method, target, version
    status, kind, body = await health.page(target.partition("?")[0])
    if method not in {"GET", "HEAD"}:
        status, kind, body = 405, PLAIN, b"Only GET and HEAD.\n"
    reason = {200: "OK", 404: "Not Found", 405: "Method Not Allowed"}.get(
        status, "Service Unavailable"
    )
    status_line = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n"
    status_line += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return status_line.encode() + (b"" if method == "HEAD" else body)


async def metrics_page(registry: CollectorRegistry) -> bytes:
    """Return what ``prometheus_client.generate_latest`` returns, in half of its time.

    A scheduler's page has some hundred lines for each queue, so others run between two metrics, and
    a collector of several returns them all at once, of one moment. The library makes it in one
    piece, and checks each name of a label in each line, though all of them are ours.
    """
    lines = list[str]()
    for metric in registry.collect():
        lines += _family_lines(metric)
        await asyncio.sleep(0)
    return "".join(lines).encode()


def _family_lines(metric: Metric) -> Iterator[str]:
    yield _header_lines(metric, _SUFFIXES[metric.type], metric.type)
    birth, births = f"{metric.name}_created", list[str]()
    for sample in metric.samples:
        if sample.name == birth:
            births.append(_sample_line(sample))
        else:
            yield _sample_line(sample)
    if births:
        yield _header_lines(metric, "_created", "gauge")
        yield from births


def _header_lines(metric: Metric, suffix: str, kind: str) -> str:
    name, about = f"{metric.name}{suffix}", metric.documentation
    about = about.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {about}\n# TYPE {name} {kind}\n"


def _sample_line(sample: Sample) -> str:
    value: str = floatToGoString(sample.value)  # type: ignore[no-untyped-call]  # it has no types
    if not sample.labels:
        return f"{sample.name} {value}\n"
    labels = ",".join(
        [f'{name}="{_escape_label(text)}"' for name, text in sorted(sample.labels.items())]
    )
    return f"{sample.name}{{{labels}}} {value}\n"


@lru_cache(maxsize=4_096)
def _escape_label(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
