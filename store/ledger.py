"""The ledger in SQL, synchronous on purpose, with the one writer's term.

One writer and one transaction a turn leave nothing to overlap, and CLI, replay and migrations
share the plain code. The scheduler calls it in a thread: a slow commit stops no heartbeat.
Nothing is tried again here: after a failure the scheduler throws its state away and rebuilds.

Two things keep writers apart. The lease, in database time, is a courtesy: while it runs no other
writer begins. The epoch is the fence: it rises with each term, and an append must match it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    bindparam,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from store.access.engine import read_transaction, selecting, transaction
from store.partitions.making import EVENTS_DEFAULT, PartitionCreator
from store.reading.history import LedgerHistory
from store.reporting.projection import project
from store.statements.clock import now_us
from store.statements.compiled import BatchStatement, CopyInto, RowQuery
from store.tables import EVENTS, OBSERVATIONS, ledger_event, ledger_position, ledger_writer
from tidegate.contracts.entry import Entry, Position, Positions, Term
from tidegate.errors import FencedError, LedgerUnreachableError, SequenceConflictError
from tidegate.model.clusters import AT, cluster_of, qualified

INSERT = CopyInto(ledger_event, Entry)
_END = RowQuery(
    select(ledger_event.c.seq, ledger_event.c.at_us)
    .where(ledger_event.c.partition == bindparam("ours"))
    .order_by(ledger_event.c.seq.desc())
    .limit(1)
)
_NO_PARTITION = "23514"  # PostgreSQL's code
LEASE_US_MAX = 120_000_000
"""Longer than a lease of any holder, unless the caller is configured to hold longer ones itself."""
_writer = ledger_writer.c
_position = ledger_position.c
_DEMAND = BatchStatement(
    update(ledger_writer)
    .where(_writer.partition == bindparam("ours"), _writer.epoch == bindparam("demanded"))
    .values(epoch=bindparam("epoch"))
)
_MOVE = BatchStatement(
    update(ledger_position)
    .where(_position.partition == bindparam("ours"), _position.stream == bindparam("of"))
    .values(incarnation=bindparam("incarnation"), seq=bindparam("seq"), moved_us=now_us())
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
        partition_events: int = EVENTS_DEFAULT,
    ) -> None:
        """Leases count in the database's time, unless a simulation gives its own ``clock_us``.

        ``partition_events`` is how many seqs a new partition of PostgreSQL's table spans.
        """
        self._engine = engine
        self._partition = partition
        self._clock_us = clock_us
        self._reports = reports
        self._history = LedgerHistory(lambda: selecting(engine), partition)
        self._partitions_ahead = PartitionCreator(engine, partition_events)

    def begin_term(self, holder: str, lease_us: int) -> Term | None:
        """See ``tidegate.bus.ports.Ledger.begin_term``; the first to lead opens the partition."""
        with transaction(self._engine, begin_at_once=True) as conn:
            open_partition(conn, self._partition)
            return _begin_term(conn, self._partition, holder, now=self._now(), lease_us=lease_us)

    def renew_term(self, epoch: int, lease_us: int) -> None:
        """See ``tidegate.bus.ports.Ledger.renew_term``."""
        with transaction(self._engine) as conn:
            _extend_lease(conn, self._partition, epoch, now=self._now(), lease_us=lease_us)

    def append(
        self, epoch: int, after: int, entries: Sequence[Entry], positions: Positions
    ) -> None:
        """See ``tidegate.bus.ports.Ledger.append``.

        The writer's row is locked first, so that of two writers the second sees what the first
        did; then the end is compared; and the primary key is the last defence behind both.
        """
        if entries:
            self._partitions_ahead.ensure(entries[0].seq, entries[-1].seq)
        with transaction(self._engine) as conn:
            _require_term(conn, self._partition, epoch)
            before_us = self._insert(conn, after, entries)
            if positions.observations is not None:
                _write_position(conn, self._partition, OBSERVATIONS, positions.observations)
            if positions.events is not None:
                _write_position(conn, self._partition, EVENTS, positions.events)
            for cluster, at in positions.members.items():
                _write_position(conn, self._partition, qualified(OBSERVATIONS, cluster), at)
            if self._reports and entries:
                project(conn, entries, entries[0].at_us if before_us is None else before_us)

    def purge_limit(self, position: Position) -> Position:
        """See ``tidegate.bus.ports.Ledger.purge_limit``."""
        with read_transaction(self._engine) as conn:
            others = _other_positions(conn, self._partition, now=self._now())
        if any(other.incarnation != position.incarnation for other in others):
            return Position()
        return Position(position.incarnation, min(other.seq for other in (position, *others)))

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """See ``store.reading.history.LedgerHistory.read``."""
        return self._history.read(after, until)

    def seq_at(self, at_us: int) -> int:
        """See ``store.reading.history.LedgerHistory.seq_at``."""
        return self._history.seq_at(at_us)

    def newest(self) -> Entry | None:
        """See ``store.reading.history.LedgerHistory.newest``."""
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


def open_partition(conn: Connection, partition: int) -> None:
    """Insert the state rows of a new partition; existing rows stay."""
    query = select(_writer.partition).where(_writer.partition == partition)
    if conn.execute(query).first() is not None:
        return
    start = [
        {"partition": partition, "stream": stream, "incarnation": 0, "seq": 0}
        for stream in (OBSERVATIONS, EVENTS)
    ]
    try:
        with conn.begin_nested():
            first = {"partition": partition, "epoch": 0, "holder": "", "lease_until_us": 0}
            conn.execute(insert(ledger_writer), first)
            conn.execute(insert(ledger_position), start)
    except IntegrityError:
        return  # another opened it at the same moment


def end_term(engine: Engine, partition: int, epoch: int, newest: int) -> None:
    """End a term, so that the next epoch is higher than this one and than ``newest``.

    Raises:
        FencedError: a newer term has begun.
        LedgerUnreachableError: the database does not answer.
    """
    own = (_writer.partition == partition) & (_writer.epoch == epoch)
    ended = {"epoch": max(epoch, newest), "lease_until_us": 0}
    with transaction(engine) as conn:
        if conn.execute(update(ledger_writer).where(own).values(ended)).rowcount == 0:
            raise FencedError(f"term {epoch}", "a newer one")


def _begin_term(
    conn: Connection, partition: int, holder: str, *, now: ColumnElement[int], lease_us: int
) -> Term | None:
    """Begin a term; None while another holder's lease runs.

    A lease that ends later than any that is given now was given by a clock that was ahead: its
    holder renews it by the right clock, or is dead.
    """
    skewed = _writer.lease_until_us > now + max(2 * lease_us, LEASE_US_MAX)
    free = or_(_writer.holder == holder, _writer.lease_until_us <= now, skewed)
    raised = (
        update(ledger_writer)
        .where(_writer.partition == partition, free)
        .values(epoch=_writer.epoch + 1, holder=holder, lease_until_us=now + lease_us)
        .returning(_writer.epoch)
    )
    epoch = conn.execute(raised).scalar()
    if epoch is None:
        return None
    at = _positions(conn, partition)
    members = {cluster_of(stream): position for stream, position in at.items() if AT in stream}
    return Term(epoch=epoch, observations=at[OBSERVATIONS], events=at[EVENTS], members=members)


def _extend_lease(
    conn: Connection, partition: int, epoch: int, *, now: ColumnElement[int], lease_us: int
) -> None:
    """Let a term's lease end ``lease_us`` from now; 0 gives it up.

    Raises:
        FencedError: a newer term has begun.
    """
    own = (_writer.partition == partition) & (_writer.epoch == epoch)
    ends = update(ledger_writer).where(own).values(lease_until_us=now + lease_us)
    if conn.execute(ends).rowcount == 0:
        raise _fenced(conn, partition, epoch)


def _require_term(conn: Connection, partition: int, epoch: int) -> None:
    """Lock the writer's row for this transaction, which must still be of this term.

    Raises:
        FencedError: a newer term has begun.
    """
    if _DEMAND.execute(conn, [(epoch, partition, epoch)]) == 0:
        raise _fenced(conn, partition, epoch)


def _positions(conn: Connection, partition: int) -> dict[str, Position]:
    """Return the committed position of each stream."""
    query = select(_position.stream, _position.incarnation, _position.seq)
    rows = conn.execute(query.where(_position.partition == partition))
    return {stream: Position(incarnation, seq) for stream, incarnation, seq in rows}


def _other_positions(
    conn: Connection, partition: int, *, now: ColumnElement[int]
) -> list[Position]:
    """Return the committed positions in OBSERVATIONS of the other partitions that are led."""
    query = (
        select(_position.incarnation, _position.seq)
        .join(ledger_writer, _writer.partition == _position.partition)
        .where(_position.stream == OBSERVATIONS, _position.partition != partition)
        .where(_writer.lease_until_us > now)
    )
    return [Position(*row) for row in conn.execute(query)]


def _write_position(conn: Connection, partition: int, stream: str, to: Position) -> None:
    """Write the position of one stream; a new member cluster gets its row."""
    moved = _MOVE.execute(conn, [(to.incarnation, to.seq, partition, stream)])
    if moved == 0:
        assert cluster_of(stream), "the partition was opened by lead()"
        at = {"incarnation": to.incarnation, "seq": to.seq, "moved_us": now_us()}
        conn.execute(insert(ledger_position).values(partition=partition, stream=stream, **at))


def _fenced(conn: Connection, partition: int, epoch: int) -> FencedError:
    newest = conn.scalar(select(_writer.epoch).where(_writer.partition == partition))
    return FencedError(f"term {epoch}", f"term {newest}")


assert _DEMAND.names == ("epoch", "ours", "demanded")
assert _MOVE.names == ("incarnation", "seq", "ours", "of")
