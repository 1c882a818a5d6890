"""A watch's answer, over aiohttp or a connection of our own: its status, then its lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp

from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.answers import (
    NO_ANSWER,
    abort_response,
    response_text,
    unreachable_message,
    watch_lines,
)
from tidegate.kube.connections import ConnectionPool
from tidegate.kube.streams import LineStream


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """The request that opens a watch."""

    url: str
    path: str
    query: Mapping[str, str]
    headers: Callable[[], Awaitable[Mapping[str, str]]]
    connect_s: float
    lasting_s: float | None  # after so long the connection is given up; None: never
    proxy: str | None
    server_hostname: str | None


@dataclass(frozen=True, slots=True)
class WatchResponse:
    """The API server's response to a watch request."""

    status: int
    headers: Mapping[str, str]
    lines: Callable[[], AsyncIterator[bytes]]
    """Yield the lines as they come; raises as ``tidegate.kube.answers.watch_lines`` does."""
    text: Callable[[int], Awaitable[bytes]]
    """Return an answer that is no watch, of so many bytes at most; 0: any."""


def open_watch(
    by: aiohttp.ClientSession | ConnectionPool, opening: WatchRequest
) -> AbstractAsyncContextManager[WatchResponse]:
    """Open a watch; the connection is cut with the context.

    Raises:
        ApiUnreachableError: no answer came.
    """
    return (
        _watch_by_stream(by, opening)
        if isinstance(by, ConnectionPool)
        else _watch_by_aiohttp(by, opening)
    )


@asynccontextmanager
async def _watch_by_aiohttp(
    session: aiohttp.ClientSession, opening: WatchRequest
) -> AsyncGenerator[WatchResponse]:
    try:
        answer = await session.get(
            opening.url,
            params=opening.query,
            headers=await opening.headers(),
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=opening.lasting_s, sock_connect=opening.connect_s),
            proxy=opening.proxy,
            server_hostname=opening.server_hostname,
        )
    except NO_ANSWER as error:
        raise _unreachable_error(opening, error) from error
    try:
        yield WatchResponse(
            answer.status,
            answer.headers,
            lambda: watch_lines(answer),
            lambda most: response_text(answer, most),
        )
    finally:
        abort_response(answer)


@asynccontextmanager
async def _watch_by_stream(
    connections: ConnectionPool, opening: WatchRequest
) -> AsyncGenerator[WatchResponse]:
    headers = await opening.headers()
    try:
        stream = await connections.stream(opening.path, opening.query, headers)
    except NO_ANSWER as error:
        raise _unreachable_error(opening, error) from error
    loop, timer = asyncio.get_running_loop(), None
    if opening.lasting_s is not None:
        timer = loop.call_later(opening.lasting_s, stream.fail, TimeoutError())
    try:
        try:
            head = await stream.read_head()
        except NO_ANSWER as error:
            raise _unreachable_error(opening, error) from error
        yield WatchResponse(
            head.status,
            head.headers,
            lambda: _lines(stream, opening),
            lambda most: _read_text(_lines(stream, opening), most),
        )
    finally:
        if timer is not None:
            timer.cancel()
        stream.close()


async def _lines(stream: LineStream, opening: WatchRequest) -> AsyncIterator[bytes]:
    try:
        async for line in stream.lines():
            yield line
    except NO_ANSWER as error:
        raise _unreachable_error(opening, error) from error


async def _read_text(lines: AsyncIterator[bytes], most: int) -> bytes:
    text = bytearray()
    async for line in lines:
        text += line
        if 0 < most < len(text):
            raise ApiStatusError(
                HTTPStatus.INSUFFICIENT_STORAGE, f"The answer has more than {most} B."
            )
    return bytes(text)


def _unreachable_error(opening: WatchRequest, error: Exception) -> ApiUnreachableError:
    return ApiUnreachableError(unreachable_message("WATCH", opening.url, error))
