"""What a ledger says of itself: its end, its writer, its positions, its schema."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, func, select

from store import term
from store.access.engine import shown
from store.archive import archive_ranges
from store.clock import now_us
from store.entries import newest
from store.failures import reading
from store.schema import revision
from store.tables import ledger_snapshot, ledger_writer
from tidegate.contracts.codec import decode
from tidegate.contracts.facts import LedgerOpened

_writer, _snapshot = ledger_writer.c, ledger_snapshot.c


def about(engine: Engine, partition: int = 0) -> dict[str, Any]:
    """Return a ledger's particulars by name; times in UTC microseconds.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    with reading(engine) as conn:
        head = newest(conn, partition)
        return {
            "ledger": shown(engine),
            "schema": revision(conn),
            "partition": partition,
            **_identity(conn, partition),
            "headSeq": 0 if head is None else head.seq,
            "headHash": "" if head is None else head.hash.hex(),
            "head_us": None if head is None else head.at_us,
            "turns": 0 if head is None else head.turn,
            **_writing(conn, partition),
            "archivedSeq": max(
                (part.seq for part in archive_ranges.parts(conn, partition)), default=0
            ),
            "snapshotSeq": conn.scalar(
                select(func.max(_snapshot.seq)).where(_snapshot.partition == partition)
            ),
        }


def clock_us(engine: Engine) -> int:
    """Return the time that the database's clock shows, in UTC microseconds.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    with reading(engine) as conn:
        return int(conn.scalar(select(now_us())) or 0)


def _identity(conn: Connection, partition: int) -> dict[str, Any]:
    """Return the ledger's id: the last that it was given."""
    payload = archive_ranges.last_opened(conn, partition)
    event = decode(payload) if payload else None
    if not isinstance(event, LedgerOpened):
        return {"ledgerId": "", "cluster": "", "software": ""}
    return {"ledgerId": event.ledger_id, "cluster": event.cluster, "software": event.software}


def _writing(conn: Connection, partition: int) -> dict[str, Any]:
    wanted = select(
        _writer.epoch, _writer.holder, (_writer.lease_until_us - now_us()).label("left")
    )
    row = conn.execute(wanted.where(_writer.partition == partition)).first()
    at = {stream: place.seq for stream, place in term.positions(conn, partition).items()}
    return {
        "term": 0 if row is None else row.epoch,
        "writer": "" if row is None or row.left <= 0 else row.holder,
        "observationsSeq": at.get("OBSERVATIONS", 0),
        "eventsOffset": at.get("EVENTS", 0),
    }
