"""Entries out of ``ledger_event``, a page of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, select

from store.tables import ledger_event
from tidegate.contracts.entry import Entry

PAGE_ROWS = 1_000

_event = ledger_event.c
_IN_ORDER = tuple(_event[name] for name in Entry.__struct_fields__)


def page(conn: Connection, partition: int, after: int, until: int | None = None) -> list[Entry]:
    """Return at most a page of the entries with ``after`` < seq <= ``until``, in order."""
    wanted = select(*_IN_ORDER).where(_event.partition == partition, _event.seq > after)
    if until is not None:
        wanted = wanted.where(_event.seq <= until)
    rows = conn.execute(wanted.order_by(_event.seq).limit(PAGE_ROWS))
    return [_entry(row) for row in rows]


def pages(conn: Connection, partition: int, after: int = 0) -> Iterator[list[Entry]]:
    """Yield the entries of a partition behind ``after``, in order, in pages; none from archives."""
    while found := page(conn, partition, after):
        yield found
        after = found[-1].seq


def newest(conn: Connection, partition: int) -> Entry | None:
    """Return the last entry of a partition; None while it is empty."""
    wanted = select(*_IN_ORDER).where(_event.partition == partition)
    row = conn.execute(wanted.order_by(_event.seq.desc()).limit(1)).first()
    return None if row is None else _entry(row)


def seq_at(conn: Connection, partition: int, at_us: int, low: int = 0) -> int:
    """Return the seq of the last entry that is not later than a time; ``low``: there is none.

    Time never falls in a ledger, so this looks at some twenty entries, however many there are.
    """
    last = newest(conn, partition)
    high = low if last is None else last.seq
    while low < high:
        middle = (low + high + 1) // 2
        wanted = select(_event.at_us).where(_event.partition == partition, _event.seq == middle)
        if conn.execute(wanted).scalar_one() <= at_us:
            low = middle
        else:
            high = middle - 1
    return low


def _entry(row: Sequence[Any]) -> Entry:
    return Entry(*row)
