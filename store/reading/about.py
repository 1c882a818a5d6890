"""A ledger's data about itself: its end, writer, positions, schema, and reports beyond its end."""

from __future__ import annotations

from typing import Any, NamedTuple

from store.archive import archive_ranges
from store.reading.entries import newest_entry
from store.schema.version import revision
from store.statements.selecting import Select
from tidegate.contracts.codec import decode
from tidegate.contracts.facts import LedgerOpened
from tidegate.model.clusters import cluster_of

_PARTITIONS = "SELECT partition FROM ledger_writer ORDER BY partition"
"""A partition's first leader adds its row here."""
_ENDS = (
    "SELECT w.partition, (SELECT e.seq FROM ledger_event e WHERE e.partition = w.partition"
    " ORDER BY e.seq DESC LIMIT 1) FROM ledger_writer w ORDER BY w.partition"
)
"""One statement, so that it sees one moment, at PostgreSQL's READ COMMITTED, too."""
NOW_US = {
    # The Julian day of the Unix epoch; a double holds today's to some 40 microseconds.
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)",
    # Not now(): that stands still within a transaction which may have waited for a lock.
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
}
"""The database's time in UTC microseconds, as each dialect says it."""
_SNAPSHOT = "SELECT max(seq) FROM ledger_snapshot WHERE partition = :partition"
_SEQS = {
    "ledger_snapshot": ("seq",),
    "ledger_archive": ("seq",),
    "report_workload": ("submitted_seq", "reservation_seq", "intent_seq", "removed_seq"),
    "report_wait": ("from_seq", "to_seq"),
    "report_holding": ("from_seq", "to_seq"),
    "report_quota": ("from_seq", "to_seq"),
    "report_budget": ("from_seq", "to_seq"),
    "report_price": ("from_seq", "to_seq"),
    "report_queue": ("from_seq", "to_seq"),
    "report_preemption": ("seq", "released_seq"),
}
"""The columns that name an event of the ledger."""


def partitions(select: Select) -> tuple[int, ...]:
    """Return the partitions of a ledger, in order; an empty ledger has partition 0.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    return tuple(partition for (partition,) in select(_PARTITIONS)) or (0,)


def head_seqs(select: Select) -> dict[int, int]:
    """Return each partition's newest seq at one moment, in order; an empty ledger gives {0: 0}.

    What one partition wrote because of another's event is in it only together with that event.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    return {partition: seq or 0 for partition, seq in select(_ENDS)} or {0: 0}


def ledger_info(select: Select, dialect: str, partition: int = 0) -> dict[str, Any]:
    """Return a ledger's particulars by name; times in UTC microseconds.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    head = newest_entry(select, partition)
    return {
        "schema": revision(select, dialect),
        "partition": partition,
        **_identity(select, partition),
        "headSeq": 0 if head is None else head.seq,
        "headHash": "" if head is None else head.hash.hex(),
        "head_us": None if head is None else head.at_us,
        "turns": 0 if head is None else head.turn,
        **_writer_info(select, dialect, partition),
        "archivedSeq": max(
            (part.seq for part in archive_ranges.archived_ranges(select, partition)), default=0
        ),
        "snapshotSeq": select(_SNAPSHOT, partition=partition)[0][0],
    }


def clock_us(select: Select, dialect: str) -> int:
    """Return the time that the database's clock shows, in UTC microseconds.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    return int(select(f"SELECT {NOW_US[dialect]}")[0][0])


def is_led(select: Select, dialect: str, partition: int = 0) -> bool:
    """Return whether a scheduler holds the ledger's lease, by the database's clock.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    query = f"SELECT lease_until_us - {NOW_US[dialect]}"
    rows = select(f"{query} FROM ledger_writer WHERE partition = :partition", partition=partition)
    return bool(rows) and rows[0][0] > 0


def _identity(select: Select, partition: int) -> dict[str, Any]:
    """Return the ledger's id: the last that it was given."""
    payload = archive_ranges.last_opened(select, partition)
    event = decode(payload) if payload else None
    if not isinstance(event, LedgerOpened):
        return {"ledgerId": "", "cluster": "", "software": ""}
    return {"ledgerId": event.ledger_id, "cluster": event.cluster, "software": event.software}


def _writer_info(select: Select, dialect: str, partition: int) -> dict[str, Any]:
    query = f"SELECT epoch, holder, lease_until_us - {NOW_US[dialect]}"
    rows = select(f"{query} FROM ledger_writer WHERE partition = :partition", partition=partition)
    epoch, holder, left_us = rows[0] if rows else (0, "", 0)
    position = "SELECT stream, seq FROM ledger_position WHERE partition = :partition"
    at = dict(map(tuple, select(position, partition=partition)))
    return {
        "term": epoch,
        "writer": "" if left_us <= 0 else holder,
        "observationsSeq": at.get("OBSERVATIONS", 0),
        "eventsOffset": at.get("EVENTS", 0),
    }


def last_received_us(select: Select, partition: int = 0) -> dict[str, int]:
    """Return when something was last read of each member cluster, UTC microseconds.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    query = "SELECT stream, moved_us FROM ledger_position WHERE partition = :partition"
    rows = select(query, partition=partition)
    return {cluster_of(stream): at_us for stream, at_us in rows if cluster_of(stream)}


class LaterReference(NamedTuple):
    """The newest event that a table names."""

    table: str
    seq: int


def newest_reference_behind(select: Select, partition: int, end: int) -> LaterReference | None:
    """Return the newest event behind ``end`` that another table names; None: none names any.

    A chain of hashes shows no missing end. Reports, snapshots and archives were written in the same
    database from the same events, so a cut of the newest rows alone is found by them.

    Reads these tables once. To be asked within the transaction that read ``end``, or with an end
    read later: a writer may go on meanwhile.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    named = [
        LaterReference(table, int(select(_newest(table, column), partition=partition)[0][0] or 0))
        for table, columns in _SEQS.items()
        for column in columns
    ]
    last = max(named, key=lambda later: later.seq)
    return last if last.seq > end else None


def _newest(table: str, column: str) -> str:
    return f"SELECT max({column}) FROM {table} WHERE partition = :partition"  # noqa: S608 - our names
