"""Requests to one HTTP/1.1 server over kept connections, written and read as bytes.

What aiohttp does for a small request and its answer takes five times as long, and a service that
writes makes hundreds a second. Pages of lists and proxies are left to it.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple, TypeVar, cast
from urllib.parse import quote, urlencode, urlsplit

from aiohttp.http import SERVER_SOFTWARE  # an API server calls the manager of fields by it

from tidegate.errors import NotSupportedError
from tidegate.kube.heads import ResponseHead, parse_head, parse_length
from tidegate.kube.sockets import enable_keepalive
from tidegate.kube.streams import LineStream

P = TypeVar("P", bound=asyncio.Protocol)
IDLE_S_MAX = 60.0
"""How long an idle connection is kept."""
HEAD_BYTES_MAX = 65_536
_END, _LINE = b"\r\n\r\n", b"\r\n"
_SAFE = "/%:@!$&'()*+,;=~"
_PLAIN = re.compile(r"[A-Za-z0-9_.\-/%:@!$&'()*+,;=~]*")
"""Paths that stay as they are; almost all do."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Answer(NamedTuple):
    """An answer, with its headers by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ConnectionPool:
    """Connections to one server; each carries one request at a time."""

    def __init__(
        self,
        base: str,
        context: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
        connections_max: int = 64,
        timeout_s: float = 30.0,
    ) -> None:
        """``base`` is the server's URL; of connections there are ``connections_max``, others wait.

        A connection is waited for, and then an answer, at most ``timeout_s`` seconds each.

        Raises:
            NotSupportedError: it is no URL.
        """
        try:
            url = urlsplit(base)
            port = url.port or _DEFAULT_PORTS.get(url.scheme, 80)
        except ValueError as error:
            raise NotSupportedError(f"The API server's URL cannot be read: {error}.") from error
        self._host, self._port = url.hostname or "", port
        self._context = context if url.scheme == "https" else None
        self._server_hostname = (server_hostname or self._host) if self._context else None
        self._root, self._netloc = url.path.rstrip("/"), url.netloc.rpartition("@")[2]
        self._places, self._within_s = asyncio.Semaphore(connections_max), timeout_s
        self._idle = deque[tuple[float, _Connection]]()
        self._all = set[_Connection]()

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Answer:
        """Send one request and return its answer.

        A GET is sent again if a connection that was kept turns out to be closed.

        Raises:
            OSError: no answer came; a request that changes something may have been carried out.
            TimeoutError: it did not come in time, and the same may have happened.
        """
        request = self._request_bytes(method, path, query, headers, body)
        if self._places.locked():
            async with asyncio.timeout(self._within_s):
                await self._places.acquire()
        else:  # a clock costs as much as the rest
            await self._places.acquire()
        try:
            return await self._exchange(request, again=method == "GET")
        finally:
            self._places.release()

    async def _exchange(self, request: bytes, *, again: bool) -> Answer:
        while True:
            idle = self._idle_connection()
            connection = idle or await self._new_connection()
            try:
                answer = await connection.exchange(request, self._within_s)
            except BaseException as error:
                self._drop(connection)
                if idle and again and isinstance(error, ConnectionError):
                    continue
                raise
            if connection.usable:
                self._idle.append((asyncio.get_running_loop().time(), connection))
            else:
                self._drop(connection)
            return answer

    async def stream(
        self, path: str, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> LineStream:
        """Send a GET over a connection of its own; the caller reads the answer and closes it.

        Raises:
            OSError, TimeoutError: there is no connection.
        """
        request = self._request_bytes("GET", path, query, headers, None)
        stream = await self._open_transport(LineStream)
        stream.send(request)
        return stream

    def close(self) -> None:
        """Close every connection; pending requests fail."""
        for connection in list(self._all):
            self._drop(connection)
        self._idle.clear()

    def _request_bytes(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> bytes:
        target = self._root + (path if _PLAIN.fullmatch(path) else quote(path, safe=_SAFE))
        target += _query_string(tuple(query.items())) if query else ""
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
            raise ConnectionError("A header has more than one line.")
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        identity = f"Host: {self._netloc}\r\nUser-Agent: {SERVER_SOFTWARE}\r\n"
        head = f"{method} {target} HTTP/1.1\r\n{identity}{lines}{length}\r\n"
        return head.encode() + (body or b"")

    def _idle_connection(self) -> _Connection | None:
        """Return the connection that was used last, if it still stands."""
        oldest_s = asyncio.get_running_loop().time() - IDLE_S_MAX
        while self._idle and (self._idle[0][0] < oldest_s or not self._idle[0][1].usable):
            self._drop(self._idle.popleft()[1])
        while self._idle:
            connection = self._idle.pop()[1]
            if connection.usable:
                return connection
            self._drop(connection)
        return None

    async def _new_connection(self) -> _Connection:
        connection = await self._open_transport(_Connection)
        self._all.add(connection)
        return connection

    async def _open_transport(self, protocol: Callable[[], P]) -> P:
        async with asyncio.timeout(self._within_s):
            _, connection = await asyncio.get_running_loop().create_connection(
                protocol,
                self._host,
                self._port,
                ssl=self._context,
                server_hostname=self._server_hostname,
            )
        return connection

    def _drop(self, connection: _Connection) -> None:
        self._all.discard(connection)
        connection.close()


class _Connection(asyncio.Protocol):
    """One connection, and the answer that it waits for."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._unread, self._head = bytearray(), cast("ResponseHead | None", None)
        self._pieces = list[bytes]()
        self.usable = False

    async def exchange(self, request: bytes, within_s: float) -> Answer:
        """Send a request and return the answer.

        Raises:
            ConnectionError: the connection ended before the whole answer came, or it is none.
            TimeoutError: the whole answer did not come in time.
        """
        assert self._transport is not None, "it is connected"
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        timer = loop.call_later(within_s, self._fail, TimeoutError())
        try:
            self._transport.write(request)
            return await self._answer
        finally:
            timer.cancel()

    def close(self) -> None:
        """End it at once: a TLS goodbye may wait for the peer's."""
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See ``asyncio.Protocol.connection_made``."""
        self._transport, self.usable = cast("asyncio.Transport", transport), True
        enable_keepalive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol.data_received``; data without a request closes the connection."""
        if self._answer is None or self._answer.done():
            self.close()
            return
        self._unread += data
        try:
            self._read()
        except (ValueError, IndexError) as error:
            self._fail(ConnectionError(f"The answer is none: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol.connection_lost``; some answers end so."""
        self.usable = False
        head = self._head
        if head is not None and head.length is None and not head.chunked and exc is None:
            self._finish_answer(head, bytes(self._unread))
        self._fail(ConnectionResetError(str(exc or "The server closed the connection.")))

    def _read(self) -> None:
        head = self._head
        while head is None:
            end = self._unread.find(_END)
            if end < 0:
                if len(self._unread) > HEAD_BYTES_MAX:
                    raise ValueError("its head does not end")
                return
            came = parse_head(bytes(self._unread[:end]))
            del self._unread[: end + len(_END)]
            head = self._head = came if came.status >= HTTPStatus.OK else None  # another follows
        if head.chunked:
            self._read_chunks(head)
        elif head.length is not None and len(self._unread) >= head.length:
            body = bytes(self._unread[: head.length])
            del self._unread[: head.length]
            self._finish_answer(head, body)

    def _read_chunks(self, head: ResponseHead) -> None:
        while (line := self._unread.find(_LINE)) >= 0:
            size = parse_length(bytes(self._unread[:line].partition(b";")[0]), 16)
            begin = line + len(_LINE)
            if not size:
                end = self._unread.find(_END, line)  # trailers may stand before
                if end >= 0:
                    del self._unread[: end + len(_END)]
                    self._finish_answer(head, b"".join(self._pieces))
                return
            if len(self._unread) < begin + size + len(_LINE):
                return
            self._pieces.append(bytes(self._unread[begin : begin + size]))
            del self._unread[: begin + size + len(_LINE)]

    def _finish_answer(self, head: ResponseHead, body: bytes) -> None:
        self.usable = self.usable and head.keep_alive and not self._unread
        self._head, self._pieces = None, []
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(head.status, head.headers, body))

    def _fail(self, error: OSError) -> None:
        self.usable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


@lru_cache(maxsize=64)
def _query_string(query: tuple[tuple[str, str], ...]) -> str:
    """Return a query as it follows a path; there are few."""
    return f"?{urlencode(query)}"
