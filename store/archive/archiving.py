"""How events leave SQLite for a file: noted first, then deleted from the oldest on.

From PostgreSQL whole tables leave: ``store.partitions.detaching``. Where the ledger has several
partitions, and one still writes to a table, the others' rows are deleted from it.
"""

from __future__ import annotations

from msgspec.structs import asdict
from sqlalchemy import Engine, delete, func, insert, select

from store.access.engine import read_transaction, select_through, transaction
from store.archive.archive_ranges import ArchivedRange, last_opened
from store.tables import ledger_archive, ledger_event

DELETED_ROWS = 20_000
"""In one transaction: the writer waits for no longer."""

_event = ledger_event.c


def last_turn_end(engine: Engine, partition: int, until: int) -> int:
    """Return the end of the last whole turn up to ``until``, but for the newest; 0: there is none.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    in_partition = _event.partition == partition
    newest = select(func.max(_event.turn)).where(in_partition).scalar_subquery()
    cut = select(func.min(_event.turn)).where(in_partition, _event.seq > until).scalar_subquery()
    ended = select(func.max(_event.seq)).where(
        in_partition, _event.turn < newest, _event.turn < func.coalesce(cut, newest)
    )
    with read_transaction(engine) as conn:
        return conn.scalar(ended) or 0


def record_range(engine: Engine, part: ArchivedRange) -> None:
    """Note a part whose file is on disk: from now on readers have it.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    with transaction(engine, begin_at_once=True) as conn:
        opened = last_opened(select_through(conn), part.partition, part.seq)
        conn.execute(insert(ledger_archive), asdict(part) | {"opened": opened})


def archive_range(engine: Engine, part: ArchivedRange) -> None:
    """Note a part whose file is on disk, then delete its events from the table, oldest first.

    Raises:
        LedgerUnreachableError: the database does not answer; what is gone is in the file.
    """
    record_range(engine, part)
    delete_events(engine, part.partition, part.first_seq, part.seq)


def delete_events(engine: Engine, partition: int, first_seq: int, last_seq: int) -> None:
    """Delete a partition's events from the table, oldest first: a file on disk has them.

    Raises:
        LedgerUnreachableError: the database does not answer; what is gone is in the file.
    """
    for first in range(first_seq, last_seq + 1, DELETED_ROWS):
        until = min(first + DELETED_ROWS - 1, last_seq)
        with transaction(engine, begin_at_once=True) as conn:
            in_partition = _event.partition == partition
            conn.execute(delete(ledger_event).where(in_partition, _event.seq <= until))
