"""Copying a whole ledger to another database, as of one moment, while a scheduler writes.

Every table is copied but the two that describe tables and views, which the other database fills
itself. So a PostgreSQL ledger has a backup that is a SQLite file, and a file can be brought to
PostgreSQL.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, Table, func, insert, select

from store.access.engine import read_transaction, redacted_url, transaction
from store.partitions.making import EVENTS_DEFAULT, make_partitions
from store.reporting import tables  # registers the reporting tables with the metadata
from store.schema.migrate import upgrade
from store.statements.compiled import BatchStatement
from store.tables import ledger_event, ledger_schema, ledger_view
from tidegate.errors import LedgerUnreachableError

ROWS = 2_000
"""Held in memory at once."""


def copy_ledger(source: Engine, target: Engine) -> int:
    """Copy a ledger into an empty database; return how many events it holds.

    One snapshot of the source is read: REPEATABLE READ on PostgreSQL, a read transaction on SQLite.
    The copy is committed whole or not at all.

    Raises:
        LedgerUnreachableError: a database does not answer, or the target holds a ledger already.
    """
    upgrade(target)
    with (
        read_transaction(_at_one_moment(source)) as old,
        transaction(target, begin_at_once=True) as new,
    ):
        if new.scalar(select(ledger_event.c.seq).limit(1)) is not None:
            raise LedgerUnreachableError(f"{redacted_url(target)} holds a ledger already.")
        _make_partitions(old, new)
        for table in tables.usage.metadata.sorted_tables:
            if table not in (ledger_view, ledger_schema):
                _copy_rows(old, new, table)
        return new.scalar(select(func.count()).select_from(ledger_event)) or 0


def _at_one_moment(source: Engine) -> Engine:
    if source.dialect.name != "postgresql":
        return source  # in WAL mode every transaction sees one moment
    return source.execution_options(isolation_level="REPEATABLE READ")


def _make_partitions(old: Connection, new: Connection) -> None:
    seq = ledger_event.c.seq
    first, last = old.execute(select(func.min(seq), func.max(seq))).one()
    if new.dialect.name == "postgresql" and first is not None:
        make_partitions(new, first, last, EVENTS_DEFAULT)


def _copy_rows(old: Connection, new: Connection, table: Table) -> None:
    into = BatchStatement(insert(table))
    query = select(*(table.c[name] for name in into.names))
    copied = old.execution_options(stream_results=True).execute(query)
    for rows in copied.partitions(ROWS):
        into.execute(new, [tuple(row) for row in rows])
