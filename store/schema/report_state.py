"""What the reports hold: from when on, and whether a migration wants them made again."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from store.tables import report_state


class ReportState(NamedTuple):
    """Of one partition."""

    kept_from_us: int = 0  # what ended before is not there any more
    stale: str = ""  # the revision that wants the rows made again


def read_report_state(conn: Connection, partition: int) -> ReportState:
    """Return the state of a partition's reports."""
    columns = (report_state.c.kept_from_us, report_state.c.stale)
    row = conn.execute(select(*columns).where(report_state.c.partition == partition)).first()
    return ReportState() if row is None else ReportState(row.kept_from_us, row.stale)


def write_report_state(conn: Connection, partition: int, state: ReportState) -> None:
    """Write it down."""
    conn.execute(report_state.delete().where(report_state.c.partition == partition))
    conn.execute(insert(report_state).values(partition=partition, **state._asdict()))
