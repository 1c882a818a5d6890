"""The ledger in SQL, synchronous on purpose.

One writer and one transaction a turn leave nothing to overlap, and CLI, replay and migrations
share the plain code. The scheduler calls it in a thread: a slow commit stops no heartbeat.
Nothing is tried again here: after a failure the scheduler throws its state away and rebuilds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import BigInteger, ColumnElement, Connection, Engine, bindparam, literal, select
from sqlalchemy.exc import IntegrityError

from store import term
from store.failures import reading, selecting, transaction
from store.partitions.ahead import PartitionsAhead
from store.partitions.making import EVENTS_DEFAULT
from store.reading.history import History
from store.reporting.projection import project
from store.statements.clock import now_us
from store.statements.positional import Reading
from store.statements.writing import Copying
from store.tables import EVENTS, OBSERVATIONS, ledger_event
from tidegate.contracts.entry import Entry, Position, Positions, Term
from tidegate.errors import LedgerUnreachableError, SequenceConflictError
from tidegate.model.clusters import qualified

INSERT = Copying(ledger_event, Entry)
_END = Reading(
    select(ledger_event.c.seq, ledger_event.c.at_us)
    .where(ledger_event.c.partition == bindparam("ours"))
    .order_by(ledger_event.c.seq.desc())
    .limit(1)
)
_NO_PARTITION = "23514"  # PostgreSQL's code


class SqlLedger:
    """``tidegate.bus.ports.Ledger`` over an engine whose schema is migrated."""

    def __init__(
        self,
        engine: Engine,
        partition: int = 0,
        *,
        clock_us: Callable[[], int] | None = None,
        reports: bool = True,
        partition_events: int = EVENTS_DEFAULT,
    ) -> None:
        """Leases count in the database's time, unless a simulation gives its own ``clock_us``.

        ``partition_events`` is how many seqs a new partition of PostgreSQL's table spans.
        """
        self._engine = engine
        self._partition = partition
        self._clock_us = clock_us
        self._reports = reports
        self._history = History(lambda: selecting(engine), partition)
        self._ahead = PartitionsAhead(engine, partition_events)

    def lead(self, holder: str, lease_us: int) -> Term | None:
        """See ``tidegate.bus.ports.Ledger.lead``; the first to lead opens the partition."""
        with transaction(self._engine, begin_at_once=True) as conn:
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
        if entries:
            self._ahead.make(entries[0].seq, entries[-1].seq)
        with transaction(self._engine) as conn:
            term.demand(conn, self._partition, epoch)
            before_us = self._insert(conn, after, entries)
            if positions.observations is not None:
                term.move(conn, self._partition, OBSERVATIONS, positions.observations)
            if positions.events is not None:
                term.move(conn, self._partition, EVENTS, positions.events)
            for cluster, at in positions.members.items():
                term.move(conn, self._partition, qualified(OBSERVATIONS, cluster), at)
            if self._reports and entries:
                project(conn, entries, entries[0].at_us if before_us is None else before_us)

    def lowest(self, position: Position) -> Position:
        """See ``tidegate.bus.ports.Ledger.lowest``."""
        with reading(self._engine) as conn:
            others = term.others(conn, self._partition, now=self._now())
        if any(other.incarnation != position.incarnation for other in others):
            return Position()
        return Position(position.incarnation, min(other.seq for other in (position, *others)))

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """See ``store.reading.history.History.read``."""
        return self._history.read(after, until)

    def seq_at(self, at_us: int) -> int:
        """See ``store.reading.history.History.seq_at``."""
        return self._history.seq_at(at_us)

    def newest(self) -> Entry | None:
        """See ``store.reading.history.History.newest``."""
        return self._history.newest()

    def _insert(self, conn: Connection, after: int, entries: Sequence[Entry]) -> int | None:
        """Write the rows; return the time of the entry before them, if there is one."""
        ends = _END.rows(conn, {"ours": self._partition})
        actual: int = ends[0][0] if ends else 0
        if actual != after:
            raise SequenceConflictError(after, actual)
        if entries:
            assert entries[0].partition == self._partition
            assert entries[0].seq == after + 1
            try:
                INSERT.execute(conn, entries)
            except IntegrityError as error:
                if getattr(error.orig, "sqlstate", None) == _NO_PARTITION:
                    message = f"ledger_event has no partition for seq {after + 1}: was it dropped?"
                    raise LedgerUnreachableError(message) from error
                raise SequenceConflictError(after, "a row that another wrote") from error
        return ends[0][1] if ends else None

    def _now(self) -> ColumnElement[int]:
        return now_us() if self._clock_us is None else literal(self._clock_us(), BigInteger)
