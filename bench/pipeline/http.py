"""HTTP/1.1 as the services speak it to the stub: requests in order, and watches that stay open.

Written on a transport: a framework would cost more than the services that are measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple, TypeAlias, cast
from urllib.parse import parse_qsl

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"
_WATCHES = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


class Request(NamedTuple):
    """One request, with its body."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    """The answer to a request."""

    status: HTTPStatus
    body: bytes


Serve: TypeAlias = Callable[[Request], Answer]
Watch: TypeAlias = Callable[[Request, "Connection"], None]


class Connection(asyncio.Protocol):
    """One client's connection; a watch keeps it until the client leaves."""

    def __init__(self, serve: Serve, watch: Watch, on_close: Callable[[Connection], None]) -> None:
        self._serve, self._watch, self._left = serve, watch, on_close
        self._transport: asyncio.WriteTransport | None = None
        self._unread = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See ``asyncio.Protocol.connection_made``."""
        self._transport = cast("asyncio.WriteTransport", transport)  # uvloop's is none by class

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol.connection_lost``."""
        del exc
        self._transport = None
        self._left(self)

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol.data_received``; a request that is not whole yet waits."""
        self._unread += data
        while (request := self._next()) is not None:
            self._answer(request)

    def send(self, lines: bytes) -> None:
        """Send lines of a watch as one chunk."""
        if self._transport is not None:
            self._transport.write(b"%x\r\n%b\r\n" % (len(lines), lines))

    def end(self) -> None:
        """End a watch."""
        if self._transport is not None:
            self._transport.write(b"0\r\n\r\n")

    def _answer(self, request: Request) -> None:
        assert self._transport is not None
        if request.query.get("watch") == "true":
            self._transport.write(_WATCHES)
            self._watch(request, self)
            return
        status, body = self._serve(request)
        head = f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: application/json\r\n"
        self._transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def _next(self) -> Request | None:
        end = self._unread.find(_END_OF_HEAD)
        if end < 0:
            return None
        head = bytes(self._unread[:end])
        begin = end + len(_END_OF_HEAD)
        length = _length(head)
        if len(self._unread) < begin + length:
            return None
        body = bytes(self._unread[begin : begin + length])
        del self._unread[: begin + length]
        method, target, _ = head.split(b" ", 2)
        path, _, query = target.decode().partition("?")
        return Request(method.decode(), path, dict(parse_qsl(query)), body)


def _length(head: bytes) -> int:
    lower = head.lower()
    at = lower.find(_LENGTH)
    if at < 0:
        return 0
    return int(lower[at + len(_LENGTH) :].partition(b"\r\n")[0])
