"""Ledger and stream as one: no gap and no duplicate, whatever the stream lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema.migrate import upgrade
from tests.bus.worlds import NAMES, entries
from tests.parts.drawn import drawn
from tidegate.bus.catchup import PAGE_ROWS, catchup_entries
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import StreamOptions
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry, Position, Positions, Published
from tidegate.contracts.facts import TimePassed
from tidegate.errors import MissedEventsError
from tidegate.subscribe import SubscriptionFilter, subscribe


def history(count: int) -> list[Entry]:
    return seal(GENESIS, 1, "local", [TimePassed(at_us=n) for n in range(count)])


class Shelf:
    """A ledger in memory; it grows after it was first read."""

    def __init__(self, rows: Sequence[Entry], known: int | None = None) -> None:
        self._rows, self._known = rows, len(rows) if known is None else known

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        end = self._known if until is None else until
        yield from (row for row in self._rows if after < row.seq <= end)


class Torn:
    """A stream that tells some rows only, and some twice."""

    def __init__(self, rows: Sequence[Entry], ledger_id: str = "led") -> None:
        self._rows, self._id = rows, ledger_id

    async def newest(self) -> tuple[str, int]:
        return self._id, self._rows[-1].seq

    async def follow(self, after: int | None = None) -> AsyncIterator[Published]:
        assert after is None or after >= 0
        for row in self._rows:
            yield Published(
                self._id, row.seq, row.subject, row.payload.encode(), row.epoch, row.turn, row.hash
            )


async def heard(feed: Torn, past: Shelf | None, after: int | None) -> list[Entry]:
    async with aclosing(catchup_entries(feed, past, after)) as actual_entries:
        return [entry async for entry in actual_entries]


@drawn(50)
@given(
    places=st.lists(st.integers(1, 30), min_size=1),
    after=st.integers(0, 29),
    known=st.integers(0, 30),
)
def test_though_messages_are_lost_or_sent_twice_each_comes_once(
    places: list[int], after: int, known: int
) -> None:
    rows = history(30)
    actual_entries = [rows[place - 1] for place in sorted([*places, 30])]
    assert asyncio.run(heard(Torn(actual_entries), Shelf(rows, known), after)) == rows[after:]


async def test_a_hole_that_cannot_be_filled_is_an_error_and_never_silence() -> None:
    rows = history(9)
    with pytest.raises(MissedEventsError, match="Expected event 4, found event 6"):
        await heard(Torn([*rows[:3], *rows[5:]]), None, 0)
    with pytest.raises(MissedEventsError, match="Expected event 2, found event 7"):
        await heard(Torn(rows[6:]), None, 1)
    assert await heard(Torn(rows[6:]), None, None) == rows[6:]


async def test_a_ledger_with_a_new_name_goes_on_where_it_does() -> None:
    rows = history(9)
    anew = seal(rows[4], 2, "local", [TimePassed(at_us=90), TimePassed(at_us=91)])

    class Renamed(Torn):
        async def follow(self, after: int | None = None) -> AsyncIterator[Published]:
            for part in (Torn(rows), Torn(anew, "new")):
                async for message in part.follow(after):
                    yield message

    assert await heard(Renamed(rows), None, 2) == [*rows[2:], *anew]


async def test_a_ledger_of_many_pages_is_caught_up_with() -> None:
    rows = history(2 * PAGE_ROWS + 5)
    assert await heard(Torn(rows[-2:]), Shelf(rows), 3) == rows[3:]


@pytest.mark.real
async def test_a_purged_stream_and_its_ledger_are_one(tmp_path: Path) -> None:
    rows, file = history(40), tmp_path / "ledger.db"
    async with (
        embedded_server(tmp_path / "nats") as url,
        open_bus(url, cluster="local", name="test") as bus,
    ):
        await bus.ensure_streams(StreamOptions())
        with made(file) as ledger:
            append(ledger, rows[:30])
            await publish(bus, rows[:30])
            await purge(url, 21)
            heard = subscribe(url, ledger=str(file), since=5, types=["TimePassed"])
            async with aclosing(heard), asyncio.timeout(60):
                actual_entries = [(await anext(heard)).entry for _ in range(26)]
                append(ledger, rows[30:])
                await publish(bus, rows[30:33])
                actual_entries.append((await anext(heard)).entry)
                await publish(bus, rows[33:])
                actual_entries += [(await anext(heard)).entry for _ in range(9)]
    assert actual_entries == rows[4:]


@pytest.mark.real
async def test_without_a_ledger_a_purged_stream_says_what_is_missing(tmp_path: Path) -> None:
    rows = history(30)
    async with (
        embedded_server(tmp_path / "nats") as url,
        open_bus(url, cluster="local", name="test") as bus,
    ):
        await bus.ensure_streams(StreamOptions())
        await publish(bus, rows)
        await purge(url, 21)
        with pytest.raises(MissedEventsError, match="Expected event 5, found event 21"):
            await anext(subscribe(url, since=5))
        async with aclosing(subscribe(url, since=25)) as heard, asyncio.timeout(60):
            assert (await anext(heard)).entry == rows[24]


def test_only_what_was_wished_for_is_taken() -> None:
    [entry] = entries(1, 1)  # an admission to team-a in the namespace ns
    for taken in (
        SubscriptionFilter(),
        SubscriptionFilter({"WorkloadAdmitted"}, "team-a", "ns"),
        SubscriptionFilter(namespace="ns"),
    ):
        assert taken.matches(entry)
    for left in (
        SubscriptionFilter({"WorkloadPending"}),
        SubscriptionFilter(cluster_queue="team-b"),
        SubscriptionFilter(namespace="team-a"),
    ):
        assert not left.matches(entry)


@contextmanager
def made(file: Path) -> Generator[SqlLedger]:
    engine = open_engine(str(file))
    upgrade(engine)
    ledger = SqlLedger(engine)
    ledger.begin_term("a", 0)
    yield ledger
    engine.dispose()


def append(ledger: SqlLedger, rows: Sequence[Entry]) -> None:
    ledger.append(1, rows[0].seq - 1, rows, Positions())


async def publish(bus: NatsBus, rows: Sequence[Entry]) -> None:
    _, counts = await bus.event_publisher().last_published(Position())
    await bus.event_publisher().publish("led", counts, rows)


async def purge(url: str, below: int) -> None:
    client = Client()
    await client.connect(url)
    await JetStream(client).purge_below(NAMES.events, below)
    await client.close()
