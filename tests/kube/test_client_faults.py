"""A server that is too busy, or gone without a word: bounded times, over real sockets."""

from __future__ import annotations

import asyncio
import socket

import pytest
from aiohttp import web

from tests.kube.test_client import PATH, all_lines, server
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.client import BUSY_TRIES, connect
from tidegate.kube.credentials import Access
from tidegate.kube.sockets import KEEPALIVE_S, keepalive_socket


class Busy:
    """Answers 429 some times, then as asked; knows when it was asked."""

    def __init__(self, times: int, headers: dict[str, str]) -> None:
        self.times, self.headers, self.asked_s = times, headers, list[float]()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked_s.append(asyncio.get_running_loop().time())
        if len(self.asked_s) <= self.times:
            return web.json_response({"message": "busy"}, status=429, headers=self.headers)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        return response


async def test_a_busy_server_is_asked_again_when_it_says_and_no_earlier() -> None:
    busy = Busy(1, {"Retry-After": "1"})
    async with server(busy) as url, connect(Access(url=url)) as api:
        answer = await api.request("POST", PATH, body=b"{}")
    first, second = busy.asked_s
    assert (answer.status, second - first >= 1.0) == (200, True)


@pytest.mark.parametrize("text", ["", "soon", "-1", "9" * 5_000])
async def test_a_busy_server_that_names_no_time_is_the_callers_to_ask(text: str) -> None:
    busy = Busy(9, {"Retry-After": text} if text else {})
    async with server(busy) as url, connect(Access(url=url)) as api:
        assert (await api.request("GET", PATH)).status == 429
    assert len(busy.asked_s) == 1


async def test_a_server_that_stays_busy_is_not_asked_for_ever() -> None:
    busy = Busy(99, {"Retry-After": "1"})
    async with server(busy) as url, connect(Access(url=url)) as api:
        assert (await api.request("GET", PATH)).status == 429
    assert len(busy.asked_s) == BUSY_TRIES


@pytest.mark.parametrize("quick", [False, True])
async def test_a_watch_that_a_busy_server_refuses_is_opened_when_it_says(*, quick: bool) -> None:
    busy = Busy(1, {"Retry-After": "1"})
    async with server(busy) as url, connect(Access(url=url, quick=quick)) as api:
        with pytest.raises(ApiStatusError):
            await all_lines(api)
        assert await all_lines(api) == [b"{}\n"]
    first, second = busy.asked_s
    assert second - first >= 1.0


@pytest.mark.parametrize("quick", [False, True])
async def test_a_watch_that_is_half_open_ends_soon_after_its_time(*, quick: bool) -> None:
    async def silent(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        await asyncio.Event().wait()  # as if the server were gone
        return response

    async with server(silent) as url:
        access = Access(url=url, watch_slack_s=0.2, quick=quick)
        async with connect(access) as api, asyncio.timeout(60):
            began_s, got = asyncio.get_running_loop().time(), list[bytes]()

            async def listen() -> None:
                async with api.watch(PATH, {"timeoutSeconds": "1"}) as lines:
                    async for line in lines:
                        got.append(line)

            with pytest.raises(ApiUnreachableError):
                await listen()
            took_s = asyncio.get_running_loop().time() - began_s
    assert (got, took_s >= 1.2) == ([b"{}\n"], True)


def test_a_socket_asks_after_a_peer_that_is_silent() -> None:
    family, kind, protocol, name, address = socket.getaddrinfo("127.0.0.1", 1)[0]
    with keepalive_socket((family, kind, protocol, name, address)) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        if hasattr(socket, "TCP_KEEPIDLE"):
            idle_s = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
            assert idle_s == KEEPALIVE_S


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("quick", [False, True])
async def test_redirects_are_not_followed(status: int, *, quick: bool) -> None:
    async def secret(request: web.BaseRequest) -> web.Response:
        return web.json_response({"message": request.path})

    async def lead(request: web.BaseRequest) -> web.Response:
        return web.Response(status=status, headers={"Location": f"{elsewhere}{request.path}"})

    async with (
        server(secret) as elsewhere,
        server(lead) as url,
        connect(Access(url=url, quick=quick)) as api,
    ):
        with pytest.raises(ApiStatusError, match="redirects are not followed"):
            await api.request("GET", PATH)
        with pytest.raises(ApiStatusError, match="redirects are not followed"):
            await all_lines(api)
