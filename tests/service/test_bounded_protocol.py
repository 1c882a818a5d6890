"""A server serves on whatever its clients leave undone: over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from tidegate.service.http import bounded_protocol
from tidegate.service.http.bounded_protocol import BoundedProtocol

pytestmark = pytest.mark.real
CONNECTIONS_MAX, BODY = 5, b"x" * 32 * 2**20
REQUEST = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


async def _application(scope: Scope, receive: Receive, send: Send) -> None:
    del receive
    body = BODY if scope["path"] == "/large" else b"ok"
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def _serving() -> AsyncGenerator[tuple[uvicorn.Server, int]]:
    config = uvicorn.Config(
        _application,
        http=BoundedProtocol,
        lifespan="off",
        log_config=None,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=1,
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        yield server, listening.getsockname()[1]
        server.should_exit = True
        await task


async def _answer(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(REQUEST)
    line = await reader.readline()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    return line


async def test_clients_that_connect_and_say_nothing_keep_no_request_out() -> None:
    async with _serving() as (_, port):
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS_MAX)]
        assert await _answer(port) == b"HTTP/1.1 200 OK\r\n"
        for _, writer in idle:
            writer.close()


@pytest.mark.parametrize("begun", [b"", REQUEST[:-1], REQUEST + REQUEST[:10]])
async def test_a_request_that_does_not_come_is_not_waited_for_without_end(
    begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_protocol, "HEAD_S", 0.2)
    async with _serving() as (_, port), asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun)
        with suppress(ConnectionError):
            await reader.read()  # to its end
        writer.close()


async def test_an_answer_that_is_not_taken_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_protocol, "TAKE_S", 0.2)
    async with _serving() as (server, port), asyncio.timeout(20):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(REQUEST.replace(b"/ ", b"/large "))
            while not server.server_state.total_requests and server.server_state.connections:
                await asyncio.sleep(0.05)
            while server.server_state.connections:
                await asyncio.sleep(0.05)
