"""Whole partitions of ``ledger_event`` leave: detached beside readers and the writer, then dropped.

Each step may be interrupted; the next run goes on from the database's state.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import Connection, Engine, text

from store.failures import reading, transaction
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


class Attached(NamedTuple):
    """A partition of the table; ``upper`` is the first seq behind it."""

    upper: int
    name: str
    pending: bool  # its detaching was broken off


class Detached(NamedTuple):
    """A table that was a partition, and what is in it; an empty one ends at seq 0."""

    name: str
    first: int
    last: int
    rows: int
    hash: bytes


@contextmanager
def alone(engine: Engine) -> Generator[None]:
    """Make sure that no other process archives.

    Raises:
        LedgerUnreachableError: another process does.
    """
    with reading(engine) as conn:
        if not conn.scalar(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": _LOCK}):
            raise LedgerUnreachableError("Another process archives this ledger just now.")
        yield


def attached(engine: Engine) -> list[Attached]:
    """Return the partitions, the oldest first."""
    with reading(engine) as conn:
        rows = conn.execute(text(_ATTACHED), {"table": ledger_event.name}).all()
    bounds = ((name, _UPPER.search(bound), pending) for name, bound, pending in rows)
    return sorted(
        Attached(int(upper[1]), name, pending) for name, upper, pending in bounds if upper
    )


def detach(engine: Engine, partition: Attached) -> None:
    """Take a partition out of the table; waits for its readers, and nothing waits for that.

    Raises:
        LedgerUnreachableError: the database does not answer; what was begun can be ended later.
    """
    how = "FINALIZE" if partition.pending else "CONCURRENTLY"
    by_itself = engine.execution_options(isolation_level="AUTOCOMMIT")
    with reading(by_itself) as conn:
        name = _quoted(conn, partition.name)
        conn.exec_driver_sql(_BEFORE)
        conn.exec_driver_sql(f"ALTER TABLE {ledger_event.name} DETACH PARTITION {name} {how}")


def detached(engine: Engine) -> list[Detached]:
    """Return the tables that were partitions, the oldest first."""
    with reading(engine) as conn:
        names = conn.scalars(text(_DETACHED), {"names": f"{ledger_event.name}_%"}).all()
        return sorted((_looked_at(conn, name) for name in names if is_partition(name)), key=_first)


def drop(engine: Engine, name: str) -> None:
    """Drop a table that was a partition."""
    with transaction(engine) as conn:
        conn.exec_driver_sql(f"DROP TABLE {_quoted(conn, name)}")


def _looked_at(conn: Connection, name: str) -> Detached:
    quoted = _quoted(conn, name)
    statement = f"SELECT min(seq), max(seq), count(*) FROM {quoted}"  # noqa: S608 - quoted
    first, last, count = conn.execute(text(statement)).one()
    ended = f"SELECT hash FROM {quoted} WHERE seq = :last"  # noqa: S608 - quoted
    end_hash = conn.scalar(text(ended), {"last": last or 0})
    return Detached(name, first or 0, last or 0, count, bytes(end_hash or b""))


def _first(table: Detached) -> int:
    return table.first


def _quoted(conn: Connection, name: str) -> str:
    return conn.dialect.identifier_preparer.quote(name)
