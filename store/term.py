"""The writer's term: taking, renewing and proving it on the row of ``ledger_writer``.

Two things keep writers apart. The lease, in database time, is a courtesy: while it runs no other
writer begins. The epoch is the fence: it rises with each term, and an append must match it.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, bindparam, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from store.statements.clock import now_us
from store.statements.positional import Positional
from store.tables import EVENTS, OBSERVATIONS, ledger_position, ledger_writer
from tidegate.contracts.entry import Position, Term
from tidegate.errors import FencedError
from tidegate.model.clusters import AT, cluster_of

LEASE_US_MAX = 120_000_000
"""Longer than a lease of any holder, unless the caller is configured to hold longer ones itself."""
_writer = ledger_writer.c
_position = ledger_position.c


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


def take(
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
    at = positions(conn, partition)
    members = {cluster_of(stream): position for stream, position in at.items() if AT in stream}
    return Term(epoch=epoch, observations=at[OBSERVATIONS], events=at[EVENTS], members=members)


def prolong(
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


def demand(conn: Connection, partition: int, epoch: int) -> None:
    """Lock the writer's row for this transaction, which must still be of this term.

    Raises:
        FencedError: a newer term has begun.
    """
    if _DEMAND.execute(conn, [(epoch, partition, epoch)]) == 0:
        raise _fenced(conn, partition, epoch)


def positions(conn: Connection, partition: int) -> dict[str, Position]:
    """Return the committed position of each stream."""
    query = select(_position.stream, _position.incarnation, _position.seq)
    rows = conn.execute(query.where(_position.partition == partition))
    return {stream: Position(incarnation, seq) for stream, incarnation, seq in rows}


def others(conn: Connection, partition: int, *, now: ColumnElement[int]) -> list[Position]:
    """Return the committed positions in OBSERVATIONS of the other partitions that are led."""
    query = (
        select(_position.incarnation, _position.seq)
        .join(ledger_writer, _writer.partition == _position.partition)
        .where(_position.stream == OBSERVATIONS, _position.partition != partition)
        .where(_writer.lease_until_us > now)
    )
    return [Position(*row) for row in conn.execute(query)]


def move(conn: Connection, partition: int, stream: str, to: Position) -> None:
    """Write the position of one stream; a new member cluster gets its row."""
    moved = _MOVE.execute(conn, [(to.incarnation, to.seq, partition, stream)])
    if moved == 0:
        assert cluster_of(stream), "the partition was opened by lead()"
        at = {"incarnation": to.incarnation, "seq": to.seq, "moved_us": now_us()}
        conn.execute(insert(ledger_position).values(partition=partition, stream=stream, **at))


def _fenced(conn: Connection, partition: int, epoch: int) -> FencedError:
    newest = conn.scalar(select(_writer.epoch).where(_writer.partition == partition))
    return FencedError(f"term {epoch}", f"term {newest}")


_DEMAND = Positional(
    update(ledger_writer)
    .where(_writer.partition == bindparam("ours"), _writer.epoch == bindparam("demanded"))
    .values(epoch=bindparam("epoch"))
)
_MOVE = Positional(
    update(ledger_position)
    .where(_position.partition == bindparam("ours"), _position.stream == bindparam("of"))
    .values(incarnation=bindparam("incarnation"), seq=bindparam("seq"), moved_us=now_us())
)
assert _DEMAND.names == ("epoch", "ours", "demanded")
assert _MOVE.names == ("incarnation", "seq", "ours", "of")
