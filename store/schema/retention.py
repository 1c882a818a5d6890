"""Retention of the reports: delete rows that ended before a time, beside readers and the writer.

The events stay, so a rebuild could make the rows again; it leaves out deleted ones. The small
transactions of the retention touch only ended rows, which no other transaction writes any more.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Column, Connection, Engine, Table, delete, func, select

from store.access.engine import redacted_url, selecting, transaction
from store.reporting import tables
from store.schema import report_state
from store.schema.version import check_schema
from tidegate.model.calendar import DAY_US, HOUR_US

ROWS = 5_000
"""Rows that one transaction looks at."""


class _IntervalTable(NamedTuple):
    """A table whose rows last from one time to another; both rise with its seq."""

    table: Table
    seq: str
    begun: str
    ended: str


_LASTING = (
    _IntervalTable(tables.wait, "from_seq", "from_us", "to_us"),
    _IntervalTable(tables.holding, "from_seq", "from_us", "to_us"),
    _IntervalTable(tables.preemption, "seq", "at_us", "released_us"),
    _IntervalTable(tables.workload, "submitted_seq", "submitted_us", "removed_us"),
)
"""Quota, queues and classes stay: they are few, and say what held when."""


class _PeriodTable(NamedTuple):
    """A table with rows of hours or days."""

    table: Table
    begins: str
    lasts_us: int


_SUMMED = (
    _PeriodTable(tables.usage, "hour_us", HOUR_US),
    _PeriodTable(tables.quota_hour, "hour_us", HOUR_US),
    _PeriodTable(tables.usage_day, "day_us", DAY_US),
)
"""Rows leave that ended before: a day that is kept in part stays whole."""


def expire_reports(engine: Engine, before_us: int, partition: int = 0) -> dict[str, int]:
    """Delete the rows of what ended before a time, UTC microseconds; return how many of a table.

    May be broken off and run again.

    Raises:
        LedgerUnreachableError: the database does not answer, or its schema is another version's.
    """
    with selecting(engine) as selected:
        check_schema(selected, engine.dialect.name, redacted_url(engine), writes=True)
    with transaction(engine, begin_at_once=True) as conn:
        state = report_state.read_report_state(conn, partition)
        before_us = max(before_us, state.kept_from_us)
        report_state.write_report_state(conn, partition, state._replace(kept_from_us=before_us))
    counts = {
        summed.table.name: _expire_periods(engine, summed, partition, before_us)
        for summed in _SUMMED
    }
    for lasting in _LASTING:
        counts[lasting.table.name] = _expire_intervals(engine, lasting, partition, before_us)
    return counts


def delete_expired(conn: Connection, before_us: int, partition: int) -> None:
    """Delete expired rows at once, from tables that no other session sees."""
    for summed in _SUMMED:
        column = summed.table.c
        ended = column[summed.begins] <= before_us - summed.lasts_us
        conn.execute(delete(summed.table).where(column.partition == partition, ended))
    for lasting in _LASTING:
        column = lasting.table.c
        condition = (column.partition == partition, column[lasting.ended] < before_us)
        conn.execute(delete(lasting.table).where(*condition))


def is_retained(table: Table, row: dict[str, object], before_us: int) -> bool:
    """Return whether a row of a reporting table is kept."""
    for summed in _SUMMED:
        if summed.table is table:
            return int(str(row[summed.begins])) > before_us - summed.lasts_us
    ended = next((row[lasting.ended] for lasting in _LASTING if lasting.table is table), None)
    return ended is None or int(str(ended)) >= before_us


def _expire_periods(engine: Engine, summed: _PeriodTable, partition: int, before_us: int) -> int:
    column, count = summed.table.c, 0
    begins, last_us = column[summed.begins], before_us - summed.lasts_us
    while True:
        with transaction(engine, begin_at_once=True) as conn:
            in_partition = column.partition == partition
            first_us = conn.scalar(select(func.min(begins)).where(in_partition))
            if first_us is None or first_us > last_us:
                return count
            until_us = min(first_us + DAY_US, last_us + 1)
            gone = conn.execute(delete(summed.table).where(in_partition, begins < until_us))
            count += gone.rowcount


def _expire_intervals(
    engine: Engine, lasting: _IntervalTable, partition: int, before_us: int
) -> int:
    column, count, after = lasting.table.c, 0, -1
    seq, begun, ended = column[lasting.seq], column[lasting.begun], column[lasting.ended]
    while True:
        with transaction(engine, begin_at_once=True) as conn:
            last, begun_us = _next_batch(conn, seq, begun, column.partition == partition, after)
            if last is None or begun_us >= before_us:
                return count
            these = (column.partition == partition, seq > after, seq <= last, ended < before_us)
            count += conn.execute(delete(lasting.table).where(*these)).rowcount
            after = last


def _next_batch(
    conn: Connection, seq: Column[int], begun: Column[int], condition: object, after: int
) -> tuple[int | None, int]:
    """Return the last seq of the next rows, and the time at which the first of them began."""
    rows = select(seq.label("seq"), begun.label("begun")).where(condition, seq > after)  # type: ignore[arg-type]
    some = rows.order_by(seq).limit(ROWS).subquery()
    last, begun_us = conn.execute(select(func.max(some.c.seq), func.min(some.c.begun))).one()
    return last, begun_us or 0
