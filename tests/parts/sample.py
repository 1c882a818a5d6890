"""The history of ``tidegate ledger sample``, in a new ledger or on EVENTS."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.streams import StreamOptions
from tidegate.cli.sample.ledger import LEDGER_ID, sample_turns
from tidegate.contracts.entry import Entry, Position, Positions

TURNS = list(sample_turns())
ENTRIES = [entry for entries in TURNS for entry in entries]


@contextmanager
def filled(url: str, actual_entries: Iterable[list[Entry]]) -> Generator[SqlLedger]:
    """Lend a new ledger that holds these turns, and takes the ones behind them."""
    engine = open_engine(url)
    try:
        migrate.upgrade(engine)
        ledger = SqlLedger(engine, clock_us=lambda: 0)
        ledger.begin_term("sample", 0)
        for entries in actual_entries:
            append(ledger, entries)
        yield ledger
    finally:
        engine.dispose()


def append(ledger: SqlLedger, entries: list[Entry]) -> None:
    """Write the next turn."""
    ledger.append(1, entries[0].seq - 1, entries, Positions())


@asynccontextmanager
async def published(folder: Path) -> AsyncGenerator[str]:
    """Lend the URL of a server whose EVENTS hold the sample."""
    async with embedded_server(folder) as url:
        async with open_bus(url, cluster="local", name="test") as bus:
            await bus.ensure_streams(StreamOptions())
            _, counts = await bus.event_publisher().last_published(Position())
            await bus.event_publisher().publish(LEDGER_ID, counts, ENTRIES)
        yield url
