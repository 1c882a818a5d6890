"""Whole partitions of ``ledger_event`` leave: detached beside readers and the writer, then dropped.

Each step may be interrupted; the next run goes on from the database's state.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import Connection, Engine, text

from store.access.engine import read_transaction, transaction
from store.partitions.making import is_partition
from store.tables import ledger_event
from tidegate.errors import LedgerUnreachableError

_LOCK = 7_116_100_105
"""PostgreSQL's advisory lock for archiving: any number that is only ours."""
_ATTACHED = (
    "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid), i.inhdetachpending FROM pg_inherits i"
    " JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(:table)"
)
_DETACHED = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND NOT relispartition"
    " AND relnamespace = current_schema()::regnamespace AND relname LIKE :names"
)
_BEFORE = "SET lock_timeout = 0"
"""Detaching waits for as long as it takes, since nothing waits for it."""
_UPPER = re.compile(r"TO \('?(\d+)'?\)")


class AttachedPartition(NamedTuple):
    """A partition of the table; ``upper`` is the first seq behind it."""

    upper: int
    name: str
    pending: bool  # its detaching was broken off


class RowRange(NamedTuple):
    """Rows of one ledger's events: of one of its partitions, by their seqs."""

    partition: int
    first: int
    last: int
    number: int
    hash: bytes  # the last one's


class DetachedPartition(NamedTuple):
    """A table that was a partition, and what is in it: rows of each of the ledger's partitions."""

    name: str
    rows: tuple[RowRange, ...]

    def lowest(self) -> int:
        """Return the lowest seq in it; 0: it is empty."""
        return min((rows.first for rows in self.rows), default=0)


@contextmanager
def archiving_lock(engine: Engine) -> Generator[None]:
    """Make sure that no other process archives.

    Raises:
        LedgerUnreachableError: another process does.
    """
    with read_transaction(engine) as conn:
        if not conn.scalar(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": _LOCK}):
            raise LedgerUnreachableError("Another process archives this ledger just now.")
        yield


def attached_partitions(engine: Engine) -> list[AttachedPartition]:
    """Return the partitions, the oldest first."""
    with read_transaction(engine) as conn:
        rows = conn.execute(text(_ATTACHED), {"table": ledger_event.name}).all()
    bounds = ((name, _UPPER.search(bound), pending) for name, bound, pending in rows)
    return sorted(
        AttachedPartition(int(upper[1]), name, pending) for name, upper, pending in bounds if upper
    )


def detach_partition(engine: Engine, partition: AttachedPartition) -> None:
    """Take a partition out of the table; waits for its readers, and nothing waits for that.

    Raises:
        LedgerUnreachableError: the database does not answer; what was begun can be ended later.
    """
    how = "FINALIZE" if partition.pending else "CONCURRENTLY"
    by_itself = engine.execution_options(isolation_level="AUTOCOMMIT")
    with read_transaction(by_itself) as conn:
        name = _quoted(conn, partition.name)
        conn.detach()  # from the pool: a later statement must not wait without end
        conn.exec_driver_sql(_BEFORE)
        conn.exec_driver_sql(f"ALTER TABLE {ledger_event.name} DETACH PARTITION {name} {how}")


def detached_partitions(engine: Engine) -> list[DetachedPartition]:
    """Return the tables that were partitions, the oldest first."""
    with read_transaction(engine) as conn:
        names = conn.scalars(text(_DETACHED), {"names": f"{ledger_event.name}_%"}).all()
        tables = (_read_detached(conn, name) for name in names if is_partition(name))
        return sorted(tables, key=DetachedPartition.lowest)


def stored_rows(engine: Engine, partition: int, until: int) -> RowRange | None:
    """Return the rows of a partition of the ledger up to a seq that the database has; None: none.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    with read_transaction(engine) as conn:
        counted = _row_ranges(
            conn, ledger_event.name, f"WHERE partition = {partition} AND seq <= {until}"
        )
    return next(iter(counted), None)


def drop_table(engine: Engine, name: str) -> None:
    """Drop a table that was a partition."""
    with transaction(engine) as conn:
        conn.exec_driver_sql(f"DROP TABLE {_quoted(conn, name)}")


def _read_detached(conn: Connection, name: str) -> DetachedPartition:
    return DetachedPartition(name, tuple(_row_ranges(conn, _quoted(conn, name))))


def _row_ranges(conn: Connection, table: str, where: str = "") -> list[RowRange]:
    """Return what is in a table, by the ledger's partitions; ``table`` is quoted."""
    counted = (
        f"SELECT partition, min(seq) AS first, max(seq) AS last, count(*) AS number FROM {table}"  # noqa: S608 - ours
        f" {where} GROUP BY partition"
    )
    statement = (
        f"SELECT c.partition, c.first, c.last, c.number, e.hash FROM ({counted}) c"  # noqa: S608 - ours
        f" JOIN {table} e ON e.partition = c.partition AND e.seq = c.last ORDER BY c.partition"
    )
    return [
        RowRange(partition, first, last, number, bytes(ended))
        for partition, first, last, number, ended in conn.execute(text(statement)).all()
    ]


def _quoted(conn: Connection, name: str) -> str:
    return conn.dialect.identifier_preparer.quote(name)
