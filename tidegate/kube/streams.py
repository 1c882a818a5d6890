"""Streamed answers, line by line without an end, each over a connection of its own.

That is a watch. What aiohttp does for each piece of one takes as long as reading the object in it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import cast

from tidegate.errors import ApiStatusError
from tidegate.kube.heads import ResponseHead, parse_head, parse_length
from tidegate.kube.reading import LINE_BYTES_MAX
from tidegate.kube.sockets import enable_keepalive

HEAD_BYTES_MAX = 65_536
WAITING_BYTES_MAX = 2**20
"""Bytes of lines that wait for their reader; beyond that nothing more is read."""
_END, _LINE = b"\r\n\r\n", b"\r\n"
_SIZE_BYTES_MAX = 1_024
"""Of the line before a chunk, which has its size."""


class LineStream(asyncio.Protocol):
    """One connection: the head of its answer, then its lines, without empty ones.

    ``lines`` and ``read_head`` raise ``OSError`` where the connection ends too early or what came
    is no answer, and ``ApiStatusError`` 410 where a line is longer than ``LINE_BYTES_MAX``.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._unread, self._head = bytearray(), cast("ResponseHead | None", None)
        self._left = 0  # bytes of the body that are to come, where it has a length
        self._cut = bytearray()  # the beginning of a line
        self._lines = deque[bytes]()
        self.waiting_bytes = 0  # of lines that were not yielded yet
        self._paused = self._ended = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None  # waits for something to come

    def send(self, request: bytes) -> None:
        """Send the one request of this connection."""
        assert self._transport is not None, "it is connected"
        self._transport.write(request)

    async def read_head(self) -> ResponseHead:
        """Return the head of the answer."""
        while self._head is None:
            if self._error is not None:
                raise self._error
            await self._notify_reader()
        return self._head

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield each line with its end, as it comes; the last one may have none."""
        while True:
            while self._lines:
                line = self._lines.popleft()
                self.waiting_bytes -= len(line)
                if self._paused and self.waiting_bytes < WAITING_BYTES_MAX // 2:
                    self._paused = False
                    cast("asyncio.Transport", self._transport).resume_reading()
                yield line
            if self._error is not None:
                raise self._error
            if self._ended:
                return
            await self._notify_reader()

    def fail(self, error: Exception) -> None:
        """End it with an error, behind what came before; what ended already stays as it is."""
        if not self._ended:
            self._error = self._error or error
            self._wake()

    def close(self) -> None:
        """End it at once: a TLS goodbye may wait for the peer's."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See ``asyncio.Protocol.connection_made``."""
        self._transport = cast("asyncio.Transport", transport)
        enable_keepalive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol.data_received``."""
        if self._ended or self._error is not None:
            return
        self._unread += data
        try:
            self._read()
        except (ValueError, IndexError) as error:
            self.fail(ConnectionError(f"The answer is none: {error}"))
        except ApiStatusError as error:
            self.fail(error)
        if self.waiting_bytes > WAITING_BYTES_MAX and not self._paused:
            self._paused = True
            cast("asyncio.Transport", self._transport).pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol.connection_lost``; some answers end so."""
        head = self._head
        if head is not None and head.length is None and not head.chunked and exc is None:
            self._end_of_body()
        self.fail(ConnectionResetError(str(exc or "The server closed the connection.")))
        self._wake()

    def _read(self) -> None:
        while self._head is None:
            end = self._unread.find(_END)
            if end < 0:
                if len(self._unread) > HEAD_BYTES_MAX:
                    raise ValueError("its head does not end")
                return
            came = parse_head(bytes(self._unread[:end]))
            del self._unread[: end + len(_END)]
            if came.status >= HTTPStatus.OK:  # else another follows
                self._head, self._left = came, came.length or 0
        if self._head.chunked:
            self._read_chunks()
            return
        piece = bytes(self._unread)
        self._unread.clear()
        if self._head.length is not None:
            piece = piece[: self._left]
            self._left -= len(piece)
        self._split_into_lines(piece)
        if self._head.length is not None and not self._left:
            self._end_of_body()

    def _read_chunks(self) -> None:
        unread, begin = self._unread, 0
        while (line := unread.find(_LINE, begin)) >= 0:
            size = parse_length(bytes(unread[begin:line].partition(b";")[0]), 16)
            if size > LINE_BYTES_MAX:
                raise _line_too_long()
            if not size:  # what follows are trailers
                self._end_of_body()
                return
            start = line + len(_LINE)
            if len(unread) < start + size + len(_LINE):
                break
            self._split_into_lines(bytes(unread[start : start + size]))
            begin = start + size + len(_LINE)
        if line < 0 and len(unread) - begin > _SIZE_BYTES_MAX:
            raise ValueError("a chunk has no size")
        del unread[:begin]

    def _split_into_lines(self, piece: bytes) -> None:
        """Take a piece of the body apart into lines."""
        whole = piece.endswith(b"\n") and piece.count(b"\n") == 1  # as almost all are
        for line in (piece,) if whole else piece.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                self._cut += line
            elif self._cut:
                self._append_line(bytes(self._cut + line))
                self._cut.clear()
            else:
                self._append_line(line)
        if len(self._cut) > LINE_BYTES_MAX:
            raise _line_too_long()

    def _append_line(self, line: bytes) -> None:
        if line.strip():
            self._lines.append(line)
            self.waiting_bytes += len(line)

    def _end_of_body(self) -> None:
        self._append_line(bytes(self._cut))
        self._cut.clear()
        self._ended = True

    async def _notify_reader(self) -> None:
        self._reader = asyncio.get_running_loop().create_future()
        await self._reader

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


def _line_too_long() -> ApiStatusError:
    return ApiStatusError(HTTPStatus.GONE, f"A line has more than {LINE_BYTES_MAX} B.")
