"""Small requests over kept connections: whatever shape an answer has, and however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.kube.test_client import PATH, server
from tests.parts.drawn import drawn
from tidegate.errors import ApiStatusError, ApiUnreachableError, NotSupportedError
from tidegate.kube.client import connect
from tidegate.kube.connections import ConnectionPool
from tidegate.kube.credentials import Access

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
ANSWERS = {
    "with a length": WHOLE,
    "behind one that only says to go on": b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE,
    "in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"1;a=b\r\n{\r\n1\r\n}\r\n0\r\nTrailer: a\r\n\r\n",
    "until the connection ends": b"HTTP/1.1 200 OK\r\n\r\n{}",
    "of HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "then closed": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
}
BROKEN = {
    "cut off in its head": WHOLE[:20],
    "cut off in its body": WHOLE[:-1],
    "cut off in a chunk": ANSWERS["in chunks"][:-20],
    "of no number": b"HTTP/1.1 ok\r\n\r\n",
    "of no length": b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}",
    "of less than nothing": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
    "nothing": b"",
}


class Raw:
    """A server that sends bytes, piece by piece, for each request."""

    def __init__(self, pieces: list[bytes], *, ends: bool) -> None:
        self.pieces, self.ends, self.connections, self.requests = pieces, ends, 0, 0
        self._serving = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def served(self) -> AsyncGenerator[str]:
        """Listen; yield the URL."""
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        async with listening:
            yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        for serving in self._serving:
            serving.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._serving.add(asyncio.ensure_future(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.requests += 1
                for piece in self.pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if self.ends:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def asked(url: str, times: int = 1) -> list[tuple[int, bytes]]:
    with closing(ConnectionPool(url)) as connections:
        async with asyncio.timeout(60):
            answers = [
                await connections.request("POST", PATH, None, {}, None) for _ in range(times)
            ]
    return [(answer.status, answer.body) for answer in answers]


@pytest.mark.parametrize("cut", [1, 3, 1_000])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=list(ANSWERS))
async def test_an_answer_is_read_however_it_comes(answer: bytes, cut: int) -> None:
    pieces = [answer[at : at + cut] for at in range(0, len(answer), cut)]
    async with Raw(pieces, ends=b"Length" not in answer and b"chunk" not in answer).served() as url:
        assert await asked(url) == [(200, b"{}")]


@pytest.mark.parametrize("answer", BROKEN.values(), ids=list(BROKEN))
async def test_what_is_no_answer_is_an_error(answer: bytes) -> None:
    async with Raw([answer], ends=True).served() as url:
        with pytest.raises(ConnectionError):
            await asked(url)


@pytest.mark.parametrize(
    ("answer", "connections"), [("with a length", 1), ("in chunks", 1), ("then closed", 3)]
)
async def test_a_connection_is_kept_unless_the_server_ends_it(
    answer: str, connections: int
) -> None:
    raw = Raw([ANSWERS[answer]], ends=False)
    async with raw.served() as url:
        assert await asked(url, 3) == [(200, b"{}")] * 3
    assert (raw.connections, raw.requests) == (connections, 3)


async def test_more_than_was_asked_for_is_no_next_answer() -> None:
    raw = Raw([WHOLE + WHOLE.replace(b"200", b"500")], ends=False)
    async with raw.served() as url:
        assert await asked(url, 2) == [(200, b"{}")] * 2
    assert raw.connections == 2


async def test_only_a_read_is_sent_again_where_a_kept_connection_has_ended() -> None:
    raw = Raw([WHOLE], ends=False)
    async with raw.served() as url:
        with closing(ConnectionPool(url)) as connections:
            for method in ("GET", "POST"):
                assert (await connections.request(method, PATH, None, {}, None)).status == 200
                raw.pieces, raw.ends = [], True
                if method == "GET":
                    with pytest.raises(ConnectionError):  # a new one has ended, too
                        await connections.request(method, PATH, None, {}, None)
                    assert raw.requests == 3
                else:
                    with pytest.raises(ConnectionError):
                        await connections.request(method, PATH, None, {}, None)
                    assert raw.requests == 5
                raw.pieces, raw.ends = [WHOLE], False


async def test_a_request_that_gives_up_leaves_no_answer_to_the_next() -> None:
    raw = Raw([], ends=False)
    async with raw.served() as url:
        with closing(ConnectionPool(url)) as connections:
            asking = asyncio.ensure_future(connections.request("GET", PATH, None, {}, None))
            while not raw.requests:
                await asyncio.sleep(0.01)
            asking.cancel()
            await asyncio.wait({asking})
            raw.pieces = [WHOLE]
            assert (await connections.request("GET", PATH, None, {}, None)).body == b"{}"
    assert raw.connections == 2


async def test_no_more_connections_are_made_than_there_may_be() -> None:
    raw = Raw([WHOLE], ends=False)
    async with raw.served() as url:
        with closing(ConnectionPool(url, connections_max=2)) as connections:
            asks = (connections.request("GET", PATH, None, {}, None) for _ in range(20))
            assert {answer.status for answer in await asyncio.gather(*asks)} == {200}
    assert raw.connections == 2


@drawn(100)
@given(st.text(max_size=20), st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3))
def test_no_path_and_no_query_breaks_its_line(path: str, query: dict[str, str]) -> None:
    written = ConnectionPool("http://host")._request_bytes("GET", f"/{path}", query, {}, None)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    first, *rest = written.split(b"\r\n")
    assert (len(first.split(b" ")), rest[0], len(rest)) == (3, b"Host: host", 4)


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb"])
async def test_a_header_of_two_lines_is_not_sent(value: str) -> None:
    connections = ConnectionPool("http://127.0.0.1:1")
    with pytest.raises(ConnectionError):
        await connections.request("GET", PATH, None, {"Name": value}, None)


def _echo(request: web.BaseRequest, text: str) -> web.Response:
    agent = request.headers.get("User-Agent")
    values = [request.method, request.path, dict(request.query), request.content_type, text]
    return web.json_response([*values, request.headers.get("Authorization"), request.host, agent])


async def test_both_ways_say_the_same_to_a_server() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return _echo(request, await request.text())

    chunks = list[bytes]()
    async with server(answer) as url:
        for quick in (False, True):
            async with connect(Access(url=url, token="t", quick=quick)) as api:  # noqa: S106 - of a server that takes any
                answers = [
                    await api.request("PATCH", f"{PATH}/a:b", query={"a": "b c/=,"}, body=b"{}"),
                    await api.request("GET", PATH, query={"limit": "1", "continue": "a+/="}),
                ]
                chunks.append(b"\n".join(answer.body for answer in answers))
    assert chunks[0] == chunks[1]


@pytest.mark.parametrize(("status", "error"), [(302, ApiStatusError), (None, ApiUnreachableError)])
async def test_redirects_and_silence_are_errors_either_way(
    status: int | None, error: type[Exception]
) -> None:
    async def answer(_request: web.BaseRequest) -> web.Response:
        if status is None:
            await asyncio.Event().wait()
        return web.Response(status=status or 200, headers={"Location": "http://127.0.0.1:1/"})

    for quick in (False, True):
        async with server(answer) as url:
            access = Access(url=url, quick=quick, request_timeout_s=0.3)
            async with connect(access) as api:
                with pytest.raises(error):
                    await api.request("GET", PATH)


async def test_a_url_without_a_port_that_there_is_is_refused_with_a_sentence() -> None:
    with pytest.raises(NotSupportedError, match="The API server's URL cannot be read"):
        async with connect(Access(url="http://127.0.0.1:99999", quick=True)):
            pass


async def test_a_worker_s_port_that_is_none_is_an_api_server_that_is_not_reached() -> None:
    async with connect(Access(url="http://127.0.0.1:99999")) as api:
        with pytest.raises(ApiUnreachableError):
            await api.request("GET", PATH)
