"""A watch's answer, over aiohttp or a connection of our own: its status, then its lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp

from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.answers import NO_ANSWER, cut, lines_in, text_in, unreachable
from tidegate.kube.connections import Connections
from tidegate.kube.streams import LineStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is asked."""

    url: str
    path: str
    query: Mapping[str, str]
    headers: Callable[[], Awaitable[Mapping[str, str]]]
    connect_s: float
    lasting_s: float | None  # after so long the connection is given up; None: never
    proxy: str | None
    server_hostname: str | None


@dataclass(frozen=True, slots=True)
class Opened:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    lines: Callable[[], AsyncIterator[bytes]]
    """Yield the lines as they come; raises as ``tidegate.kube.answers.lines_in`` does."""
    text: Callable[[int], Awaitable[bytes]]
    """Return an answer that is no watch, of so many bytes at most; 0: any."""


def opened(
    by: aiohttp.ClientSession | Connections, opening: Opening
) -> AbstractAsyncContextManager[Opened]:
    """Open a watch; the connection is cut with the context.

    Raises:
        ApiUnreachableError: no answer came.
    """
    return _streamed(by, opening) if isinstance(by, Connections) else _by_aiohttp(by, opening)


@asynccontextmanager
async def _by_aiohttp(session: aiohttp.ClientSession, opening: Opening) -> AsyncGenerator[Opened]:
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
        raise _no_answer(opening, error) from error
    try:
        yield Opened(
            answer.status,
            answer.headers,
            lambda: lines_in(answer),
            lambda most: text_in(answer, most),
        )
    finally:
        cut(answer)


@asynccontextmanager
async def _streamed(connections: Connections, opening: Opening) -> AsyncGenerator[Opened]:
    headers = await opening.headers()
    try:
        stream = await connections.stream(opening.path, opening.query, headers)
    except NO_ANSWER as error:
        raise _no_answer(opening, error) from error
    loop, timer = asyncio.get_running_loop(), None
    if opening.lasting_s is not None:
        timer = loop.call_later(opening.lasting_s, stream.fail, TimeoutError())
    try:
        try:
            head = await stream.read_head()
        except NO_ANSWER as error:
            raise _no_answer(opening, error) from error
        yield Opened(
            head.status,
            head.headers,
            lambda: _lines(stream, opening),
            lambda most: _text(_lines(stream, opening), most),
        )
    finally:
        if timer is not None:
            timer.cancel()
        stream.close()


async def _lines(stream: LineStream, opening: Opening) -> AsyncIterator[bytes]:
    try:
        async for line in stream.lines():
            yield line
    except NO_ANSWER as error:
        raise _no_answer(opening, error) from error


async def _text(lines: AsyncIterator[bytes], most: int) -> bytes:
    text = bytearray()
    async for line in lines:
        text += line
        if 0 < most < len(text):
            raise ApiStatusError(
                HTTPStatus.INSUFFICIENT_STORAGE, f"The answer has more than {most} B."
            )
    return bytes(text)


def _no_answer(opening: Opening, error: Exception) -> ApiUnreachableError:
    return ApiUnreachableError(unreachable("WATCH", opening.url, error))
