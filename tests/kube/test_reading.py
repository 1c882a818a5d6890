"""Pages and lines of any size: no objects are so heavy that a service ends or stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
from aiohttp import web

from tests.kube.test_client import PATH, server
from tidegate.errors import ApiStatusError
from tidegate.kube import reading
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.reading import read_lines

MANY, HEAVY_FROM, HEAVY_TO = 200, 40, 60
HEAVY_BYTES = 2_000_000


async def listing(request: web.BaseRequest) -> web.Response:
    """Answer a page as the API server does, of light objects and some heavy ones."""
    first, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
    result = range(first, min(first + limit, MANY))
    items = [f"{number} {weight(number) * 'x'}" for number in result]
    token = str(result.stop) if result.stop < MANY else ""
    return web.json_response({"metadata": {"continue": token}, "items": items})


def weight(number: int) -> int:
    return HEAVY_BYTES if HEAVY_FROM <= number < HEAVY_TO else 1


async def test_a_page_that_is_too_large_comes_in_smaller_ones_until_they_are_light_again() -> None:
    seen, sizes, token = list[int](), list[tuple[int, int]](), "0"
    async with server(listing) as url, connect(Access(url=url)) as api:
        while token:
            answer = await api.request("GET", PATH, query={"limit": "500", "continue": token})
            obj = msgspec.json.decode(answer.body)
            seen += [int(line.split()[0]) for line in obj["items"]]
            sizes.append((len(obj["items"]), len(answer.body)))
            token = obj["metadata"]["continue"]
    assert seen == list(range(MANY))
    assert max(size for _, size in sizes) <= reading.PAGE_BYTES_MAX
    assert max(count for count, _ in sizes) > 1
    assert sizes[-2][0] > min(count for count, _ in sizes)


async def test_one_object_alone_is_read_whatever_it_weighs() -> None:
    async def answer(_request: web.BaseRequest) -> web.Response:
        return web.Response(body=b"x" * (reading.PAGE_BYTES_MAX + 1))

    async with server(answer) as url, connect(Access(url=url)) as api:
        response = await api.request("GET", PATH, query={"limit": "500"})
    assert len(response.body) == reading.PAGE_BYTES_MAX + 1


async def test_no_more_is_read_of_a_server_that_is_not_trusted() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        status = 500 if "watch" in request.query else 200
        return web.Response(body=b"x" * 1_001, status=status)

    async with (
        server(answer) as url,
        connect(Access(url=url, answer_bytes_max=1_000)) as api,
    ):
        with pytest.raises(ApiStatusError, match="more than 1000 B"):
            await api.request("GET", PATH)
        with pytest.raises(ApiStatusError, match="more than 1000 B"):
            async with api.watch(PATH, {}):
                pass


class Pieces:
    """An answer that comes in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    async def iter_any(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def test_lines_are_put_together_however_they_come() -> None:
    pieces = Pieces(b"a", b"b\n", b"\n", b"c\nd\r\ne", b"\nf")
    assert [line async for line in read_lines(pieces)] == [b"ab\n", b"c\n", b"d\r\n", b"e\n", b"f"]


async def test_a_line_that_is_too_long_asks_for_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_BYTES_MAX", 10)
    with pytest.raises(ApiStatusError) as caught:
        assert [line async for line in read_lines(Pieces(b"abc\n", b"123456", b"123456"))] == []
    assert caught.value.status == 410
