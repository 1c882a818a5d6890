"""A stream sends what is written to users who may see it, as long as they may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import msgspec
import pytest

from tests.parts.sample import ENTRIES, TURNS, append, filled
from tests.serve.conftest import judged
from tests.serve.people import ReviewingApi
from tidegate.ports import free_ports
from tidegate.serve.api import streaming
from tidegate.serve.api.endpoints import ENDPOINTS
from tidegate.serve.api.handling import AuthorizedQuery
from tidegate.serve.app import create_application, follow_ledger, open_services
from tidegate.serve.auth.limits import ConcurrencyLimiter
from tidegate.serve.auth.reviews import User
from tidegate.serve.auth.rights import Visibility
from tidegate.serve.ledger.partitions.following import LedgerFollower
from tidegate.serve.server import ListenAddress, create_server
from tidegate.subscribe import SubscriptionFilter

EVENTS = "/v1/events"


@asynccontextmanager
async def served(path: Path, api: ReviewingApi) -> AsyncGenerator[httpx2.AsyncClient]:
    """Lend a client of a server over a ledger."""
    (port,) = free_ports(1)
    parts = open_services(str(path), *judged(api))
    running = create_server(create_application(parts), ListenAddress(host="127.0.0.1", port=port))
    working = asyncio.create_task(running.serve())
    async with asyncio.timeout(60):
        while not running.started or parts.followed_ledger.fault:
            await asyncio.sleep(0.02)
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        yield client
    running.should_exit = True
    await working


@asynccontextmanager
async def opened(
    client: httpx2.AsyncClient, who: str, query: str, **headers: str
) -> AsyncGenerator[AsyncIterator[tuple[str, str]]]:
    given = {"Authorization": f"Bearer {who}", "Accept": streaming.STREAM, **headers}
    async with client.stream("GET", f"{EVENTS}?{query}", headers=given) as answer:
        assert answer.status_code == 200, await answer.aread()
        yield server_events(answer)


async def server_events(answer: httpx2.Response) -> AsyncIterator[tuple[str, str]]:
    """Yield each event's name and data."""
    event = ""
    async for line in answer.aiter_lines():
        field, _, value = line.partition(": ")
        event = value if field == "event" else event
        if field == "data":
            yield event, value


async def taken(stream: AsyncIterator[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    async with asyncio.timeout(60):
        return [await anext(stream) for _ in range(count)]


async def test_a_stream_goes_on_as_events_are_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with filled(f"sqlite:///{path}", TURNS[:-1]) as ledger:
        before = TURNS[-1][0].seq - 1
        async with served(path, ReviewingApi()) as client:
            async with opened(client, "root", f"after={before - 3}") as stream:
                pairs = await taken(stream, 3)
                append(ledger, TURNS[-1])
                pairs += await taken(stream, len(TURNS[-1]))
            seqs = [msgspec.json.decode(data)["seq"] for _, data in pairs]
            assert seqs == list(range(before - 2, len(ENTRIES) + 1))
            async with opened(client, "root", "", **{"Last-Event-ID": str(before)}) as stream:
                assert await taken(stream, len(TURNS[-1])) == pairs[3:]


async def test_a_user_of_one_namespace_is_shown_it_alone(ledger: str) -> None:
    async with served(Path(ledger), ReviewingApi()) as client:
        async with opened(client, "ann", "namespace=a&after=0&type=WorkloadPreempted") as stream:
            ((kind, data),) = await taken(stream, 1)
        assert kind == "WorkloadPreempted"
        assert "job-urgent" not in data
        for query in ("after=0", "namespace=b&after=0", "namespace=a&after=x"):
            given = {"Authorization": "Bearer ann", "Accept": streaming.STREAM}
            answer = await client.get(f"{EVENTS}?{query}", headers=given)
            assert answer.status_code in {400, 403}, query


async def test_a_user_that_loses_the_right_loses_the_stream(
    ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "REMEMBERED_S", 0.0)
    monkeypatch.setattr("tidegate.serve.auth.reviews.REMEMBERED_S", 0.0)
    api = ReviewingApi()
    async with (
        served(Path(ledger), api) as client,
        opened(client, "ann", "namespace=a") as stream,
    ):
        api.rights["ann"] = set()
        ((kind, data),) = await taken(stream, 1)
        assert (kind, msgspec.json.decode(data)["code"]) == ("refused", 403)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


def test_no_more_waits_for_a_slow_reader_than_a_page(
    ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PAGE_CHARS", 1)
    parts = open_services(ledger, *judged(ReviewingApi()))
    try:
        while parts.followed_ledger.poll():
            pass
        (row,) = (row for row in ENDPOINTS if row.path == EVENTS)
        sight = Visibility(everything=True)
        checked = AuthorizedQuery(row, row.values({}, {}), User(name="ann"), sight)
        page, end = streaming.wanted_events(parts, checked, SubscriptionFilter(), {0: 0})
    finally:
        parts.followed_ledger.close()
        parts.readers.close()
    assert (page.count("\ndata: "), end) == (1, {0: 1})


async def test_one_person_has_so_many_streams_and_no_more() -> None:
    streams = ConcurrencyLimiter("streams", of_one_max=streaming.STREAMS_OF_ONE_MAX)
    opened_now = [streams.acquire("ann") for _ in range(streaming.STREAMS_OF_ONE_MAX)]
    for manager in opened_now:
        manager.__enter__()
    with pytest.raises(Exception, match="At most"), streams.acquire("ann"):
        pass
    with streams.acquire("bob"):
        pass
    opened_now[0].__exit__(None, None, None)
    with streams.acquire("ann"):
        pass


async def test_a_server_that_cannot_follow_its_ledger_answers_nothing_more(
    ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = LedgerFollower(ledger)
    while live.poll():
        pass
    assert not live.fault
    # Of this one alone: servers of other tests follow the same ledger.
    monkeypatch.setattr(live, "poll", lambda: 1 + "none")  # type: ignore[operator]
    with pytest.raises(TypeError):
        await follow_ledger(live)
    assert "restart" in live.fault
