"""Subscribers of a ledger of several partitions: of one, or of all, each from its own position."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from nats.aio.client import Client

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema.migrate import upgrade
from tests.store.histories import LEASE_US
from tidegate.bus.catchup import merge_partitions
from tidegate.bus.client import connect
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.jetstream.keys import ledger_key
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import StreamOptions
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry, Position, Positions
from tidegate.contracts.facts import TimePassed
from tidegate.errors import MissedEventsError
from tidegate.subscribe import LedgerEvent, newest, positions, subscribe

COUNTS = {0: 4, 1: 6, 12: 3}
"""Partitions, and how many events each has."""


def history(partition: int, count: int) -> list[Entry]:
    genesis = replace(GENESIS, partition=partition)
    return seal(genesis, 1, "local", [TimePassed(at_us=10 * n) for n in range(count)])


@asynccontextmanager
async def published(folder: Path) -> AsyncGenerator[str]:
    """Lend the URL of a server to which each partition's scheduler published."""
    async with embedded_server(folder) as url:
        for partition, count in COUNTS.items():
            async with open_bus(url, cluster="local", name="test", partition=partition) as bus:
                await bus.ensure_streams(StreamOptions())
                await bus.register().claim(ledger_key(partition), f"led-{partition}")
                publisher = bus.event_publisher()
                _, counts = await publisher.last_published(Position())
                await publisher.publish(f"led-{partition}", counts, history(partition, count))
        yield url


async def heard(events: AsyncGenerator[LedgerEvent, None], count: int) -> dict[int, list[int]]:
    """Return the seqs that come of each partition, once there are so many."""
    seqs = dict[int, list[int]]()
    async with aclosing(events), asyncio.timeout(30):
        async for event in events:
            seqs.setdefault(event.partition, []).append(event.seq)
            count -= 1
            if not count:
                break
    return seqs


@pytest.mark.real
async def test_all_are_heard_or_one_from_where_each_was_left(tmp_path: Path) -> None:
    async with published(tmp_path) as url:
        assert await positions(url) == COUNTS
        everything = await heard(subscribe(url, since=1), 13)
        assert everything == {n: list(range(1, count + 1)) for n, count in COUNTS.items()}
        assert await heard(subscribe(url, since={0: 4, 1: 6}), 5) == {0: [4], 1: [6], 12: [1, 2, 3]}
        assert await heard(subscribe(url, since=5, partition=1), 2) == {1: [5, 6]}
        assert await newest(url, partition=12) == 3
        for partition, count in COUNTS.items():
            async with connect(url, partition=partition) as client:
                witness = await client.witness()
            assert witness is not None
            assert (witness.ledger_id, witness.seq) == (f"led-{partition}", count)
            assert witness.hash == history(partition, count)[-1].hash


@pytest.mark.real
async def test_what_a_stream_lost_comes_from_its_partitions_ledger(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    engine = open_engine(f"sqlite:///{file}")
    upgrade(engine)
    for partition, count in COUNTS.items():
        ledger = SqlLedger(engine, partition)
        ledger.begin_term("a", LEASE_US)
        ledger.append(1, 0, history(partition, count), Positions())
    engine.dispose()
    async with published(tmp_path / "nats") as url:
        client = Client()
        await client.connect(url)
        await JetStream(client).purge_below(
            "tidegate_local_events_1", 6
        )  # as what is old is dropped
        await client.close()
        assert await heard(subscribe(url, since=1, ledger=str(file)), 13) == {
            n: list(range(1, count + 1)) for n, count in COUNTS.items()
        }
        with pytest.raises(MissedEventsError):
            await heard(subscribe(url, since=2), 13)


async def test_an_error_of_one_ends_all() -> None:
    ended = list[int]()

    async def endless(number: int, *, fails: bool) -> AsyncGenerator[Entry, None]:
        try:
            for entry in history(number, 3):
                yield entry
            if fails:
                raise MissedEventsError("event 4", "event 6")
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    async def all_of(histories: Sequence[AsyncGenerator[Entry, None]]) -> int:
        async with aclosing(merge_partitions(histories)) as entries:
            return len([entry async for entry in entries])

    with pytest.raises(MissedEventsError):
        await all_of([endless(0, fails=False), endless(1, fails=True)])
    assert sorted(ended) == [0, 1]
