"""The reports as they were: made in memory from the entries up to a point of the past.

The present's tables know only what is; but they are made from events, and can be made from fewer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from itertools import islice

from sqlalchemy import Connection, Engine

from store import ledger
from store.access.engine import open_engine
from store.ledger import INSERT
from store.reading.entries import PAGE_ROWS
from store.reporting.projection import project
from store.tables import metadata
from store.views import creating
from tidegate.contracts.entry import Entry


@contextmanager
def reports_as_of(*partitions: Iterable[Entry]) -> Generator[Engine]:
    """Lend an engine whose reports are made from the entries of one partition, or of several."""
    engine = open_engine("sqlite://")
    try:
        metadata.create_all(engine)
        with engine.begin() as conn:
            creating.create(conn)
            for entries in partitions:
                _project_entries(conn, entries)
        yield engine
    finally:
        engine.dispose()


def _project_entries(conn: Connection, entries: Iterable[Entry]) -> None:
    remaining, last = iter(entries), None
    while page := list(islice(remaining, PAGE_ROWS)):
        project(conn, page, page[0].at_us if last is None else last.at_us)
        last = page[-1]
    ledger.open_partition(conn, 0 if last is None else last.partition)
    if last is not None:
        INSERT.execute(conn, [last])  # its time is "now"
