"""Lines over a connection of their own: whatever shape the answer has, and however it ends."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.kube.test_client import PATH
from tests.kube.test_connections import Raw
from tests.parts.certificates import write_certificate
from tests.parts.drawn import drawn
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube import streams
from tidegate.kube.client import connect
from tidegate.kube.connections import ConnectionPool
from tidegate.kube.credentials import Access

LINES = [b'{"a":1}\n', b"{}\n", b"[]"]
BODY = b'{"a":1}\n\n \n{}\n[]'
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKS = (BODY[:4], BODY[4:9], BODY[9:])


def chunked(*pieces: bytes) -> bytes:
    """Return an answer in chunks."""
    chunks = b"".join(b"%x;b=c\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks


ANSWERS = {
    "in chunks": chunked(*CHUNKS),
    "behind one that only says to go on": b"HTTP/1.1 100 Continue\r\n\r\n" + chunked(BODY),
    "with a length": HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
    "until the connection ends": HEAD + b"\r\n" + BODY,
}
BROKEN = {
    "cut off in its head": HEAD[:9],
    "cut off in a chunk": chunked(*CHUNKS)[:-20],
    "cut off between chunks": chunked(*CHUNKS)[:-9],
    "cut off in its body": HEAD + b"Content-Length: 9\r\n\r\n{}\n",
    "of no number": b"HTTP/1.1 ok\r\n\r\n",
    "of a chunk without a size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nx\r\n",
    "of a chunk whose size does not end": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"1" * 9_999,
    "of a head that does not end": HEAD + b"a: b\r\n" * 20_000,
    "nothing": b"",
}


async def read(url: str) -> list[bytes]:
    with closing(ConnectionPool(url)) as connections:
        async with asyncio.timeout(60):
            stream = await connections.stream(PATH, {"watch": "true"}, {})
            try:
                assert (await stream.read_head()).status == 200
                return [line async for line in stream.lines()]
            finally:
                stream.close()


@pytest.mark.parametrize("cut", [1, 3, 1_000])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=list(ANSWERS))
async def test_lines_are_read_however_they_come(answer: bytes, cut: int) -> None:
    pieces = [answer[at : at + cut] for at in range(0, len(answer), cut)]
    async with Raw(pieces, ends=answer.startswith(HEAD + b"\r\n")).served() as url:
        assert await read(url) == LINES


@pytest.mark.parametrize("answer", BROKEN.values(), ids=list(BROKEN))
async def test_an_answer_that_breaks_is_an_error(answer: bytes) -> None:
    async with Raw([answer], ends=True).served() as url:
        with pytest.raises(ConnectionError):
            await read(url)


@drawn(50)
@given(
    st.lists(st.binary(min_size=1, max_size=40).filter(lambda line: b"\n" not in line)),
    st.integers(min_value=1, max_value=30),
)
def test_what_was_written_as_lines_is_read_as_these(bodies: list[bytes], size: int) -> None:
    body = b"".join(line + b"\n" for line in bodies)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]

    async def lines() -> list[bytes]:
        async with Raw([chunked(*pieces)], ends=True).served() as url:
            return await read(url)

    assert asyncio.run(lines()) == [line + b"\n" for line in bodies if line.strip()]


@pytest.mark.parametrize("pieces", [(b"x" * 40, b"x" * 40), (b"x" * 80,)])
async def test_a_line_that_is_too_long_can_only_be_listed(
    monkeypatch: pytest.MonkeyPatch, pieces: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(streams, "LINE_BYTES_MAX", 64)
    async with Raw([chunked(b"{}\n", *pieces)], ends=True).served() as url:
        with pytest.raises(ApiStatusError, match="A line has more than"):
            await read(url)


async def test_a_watch_over_tls_trusts_the_given_authority_alone(tmp_path: Path) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        return response

    certificate, key = write_certificate(tmp_path, ["localhost"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "localhost", 0, ssl_context=context).start()
    url = f"https://localhost:{runner.addresses[0][1]}"
    try:
        async with (
            connect(Access(url=url, ca_file=str(certificate), quick=True)) as api,
            api.watch(PATH, {"timeoutSeconds": "5"}) as lines,
        ):
            assert [line async for line in lines] == [b"{}\n"]
        async with connect(Access(url=url, quick=True)) as api:
            with pytest.raises(ApiUnreachableError, match="certificate"):
                async with api.watch(PATH, {"timeoutSeconds": "5"}):
                    pass
    finally:
        await runner.cleanup()


async def test_a_slow_reader_is_sent_no_more_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "WAITING_BYTES_MAX", 10_000)
    line, count, most = b"x" * 999 + b"\n", 4_000, 0
    async with Raw([chunked(*[line] * count)], ends=False).served() as url:
        with closing(ConnectionPool(url)) as connections:
            stream, number = await connections.stream(PATH, {}, {}), 0
            async for received in stream.lines():
                assert received == line
                number, most = number + 1, max(most, stream.waiting_bytes)
                await asyncio.sleep(0)
            stream.close()
    assert (number, most < count * len(line) / 4) == (count, True)
