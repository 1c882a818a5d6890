"""The ledger in SQL, synchronous on purpose.

One writer and one transaction a turn leave nothing to overlap, and CLI, replay and migrations
share the plain code. The scheduler calls it in a thread: a slow commit stops no heartbeat.
Nothing is tried again here: after a failure the scheduler throws its draft away and rebuilds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import asdict
from sqlalchemy import ColumnElement, Connection, Engine, func, insert, literal, select
from sqlalchemy.exc import IntegrityError

from store import term
from store.clock import now_us
from store.failures import reading, transaction
from store.reporting.projection import project
from store.tables import EVENTS, OBSERVATIONS, ledger_event
from tidegate.contracts.entry import Entry, Positions, Term
from tidegate.errors import SequenceConflictError

PAGE_ROWS = 1_000
"""Rows of one read: no transaction stays open while the caller works on them."""

_event = ledger_event.c
_IN_ORDER = (
    _event.partition,
    _event.seq,
    _event.epoch,
    _event.turn,
    _event.at_us,
    _event.cluster,
    _event.type,
    _event.subject,
    _event.payload,
    _event.hash,
)


class SqlLedger:
    """``tidegate.bus.ports.Ledger`` over an engine whose schema is migrated."""

    def __init__(
        self,
        engine: Engine,
        partition: int = 0,
        *,
        clock_us: Callable[[], int] | None = None,
        reports: bool = True,
    ) -> None:
        """Leases count in the database's time, unless a simulation gives its own ``clock_us``."""
        self._engine = engine
        self._partition = partition
        self._clock_us = clock_us
        self._reports = reports

    def lead(self, holder: str, lease_us: int) -> Term | None:
        """See ``tidegate.bus.ports.Ledger.lead``; the first to lead opens the partition."""
        with transaction(self._engine) as conn:
            term.open_partition(conn, self._partition)
            return term.take(conn, self._partition, holder, now=self._now(), lease_us=lease_us)

    def renew(self, epoch: int, lease_us: int) -> None:
        """See ``tidegate.bus.ports.Ledger.renew``."""
        with transaction(self._engine) as conn:
            term.prolong(conn, self._partition, epoch, now=self._now(), lease_us=lease_us)

    def append(
        self, epoch: int, after: int, entries: Sequence[Entry], positions: Positions
    ) -> None:
        """See ``tidegate.bus.ports.Ledger.append``.

        The writer's row is locked first, so that of two writers the second sees what the first
        did; then the end is compared; and the primary key is the last defence behind both.
        """
        with transaction(self._engine) as conn:
            term.demand(conn, self._partition, epoch)
            self._insert(conn, after, entries)
            if positions.observations is not None:
                term.move(conn, self._partition, OBSERVATIONS, positions.observations)
            if positions.events is not None:
                term.move(conn, self._partition, EVENTS, positions.events)
            if self._reports:
                project(conn, entries)

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """See ``tidegate.bus.ports.Ledger.read``; a page of rows at a time."""
        while True:
            page = self._page(after, until)
            yield from page
            if len(page) < PAGE_ROWS:
                return
            after = page[-1].seq

    def end(self) -> Entry | None:
        """Return the newest entry; None of an empty ledger."""
        newest = select(*_IN_ORDER).where(_event.partition == self._partition)
        with reading(self._engine) as conn:
            row = conn.execute(newest.order_by(_event.seq.desc()).limit(1)).first()
        return None if row is None else _entry(row)

    def _page(self, after: int, until: int | None) -> list[Entry]:
        wanted = select(*_IN_ORDER).where(_event.partition == self._partition, _event.seq > after)
        if until is not None:
            wanted = wanted.where(_event.seq <= until)
        with reading(self._engine) as conn:
            rows = conn.execute(wanted.order_by(_event.seq).limit(PAGE_ROWS)).all()
        return [_entry(row) for row in rows]

    def _insert(self, conn: Connection, after: int, entries: Sequence[Entry]) -> None:
        end = select(func.max(_event.seq)).where(_event.partition == self._partition)
        actual = conn.execute(end).scalar() or 0
        if actual != after:
            raise SequenceConflictError(after, actual)
        if not entries:
            return
        assert entries[0].partition == self._partition
        assert entries[0].seq == after + 1
        try:
            conn.execute(insert(ledger_event), [asdict(entry) for entry in entries])
        except IntegrityError as error:
            raise SequenceConflictError(after, "a row that another wrote") from error

    def _now(self) -> ColumnElement[int]:
        return now_us() if self._clock_us is None else literal(self._clock_us())


def _entry(row: Sequence[Any]) -> Entry:
    return Entry(*row)
