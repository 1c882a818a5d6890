"""The cost and quota usage of a month: of full hours alone, which never change.

Both are sums over the SQL reports. A moment of the past cuts the month off at its last full hour.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from store.reading import reports
from tidegate.cli.ledger.reading import Reader
from tidegate.model import calendar
from tidegate.model.calendar import HOUR_US

Row: TypeAlias = dict[str, Any]
_SECOND_US, _HOUR_S = 1_000_000, 3_600
_USED = ("namespace", "cluster_queue", "flavor", "resource")
_PRICED = (*_USED, "per_unit_hour", "currency")


class Span(NamedTuple):
    """A month, or its part up to a moment, in UTC microseconds."""

    month: str  # 2026-03
    begin_us: int
    until_us: int  # a full hour


def span_of(month: str, at_us: int) -> Span:
    """Return a month up to a moment; empty: the month of that moment.

    Raises:
        ValueError: it is none.
    """
    within_us = (
        _microseconds(datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)) if month else at_us
    )
    begin_us, end_us = calendar.period_span("month", within_us)
    until_us = min(end_us, at_us // HOUR_US * HOUR_US)
    return Span(calendar.utc_text(begin_us)[:7], begin_us, max(begin_us, until_us))


def cost_rows(reader: Reader, span: Span, namespace: str = "") -> list[Row]:
    """Return what each namespace used of each queue, flavor and resource, and what that cost.

    As ``quota_rows`` of all partitions, or of the one that is served alone.
    """
    only = {"namespace": namespace} if namespace else {}
    rows = _sums(reader, "chargeback", span, _PRICED, only)
    return [
        {
            "month": span.month,
            **{name: row[name] for name in _USED},
            "unit_hours": row["unit_hours"],
            "per_unit_hour": row["per_unit_hour"],
            "cost": None if row["per_unit_hour"] is None else row["cost"],
            "currency": row["currency"],
        }
        for row in rows
    ]


def quota_rows(reader: Reader, span: Span) -> list[Row]:
    """Return what each ClusterQueue had of each flavor and resource, used, borrowed and left."""
    rows = _sums(reader, "quota_hourly", span, _USED[1:], {})
    return [
        {
            "month": span.month,
            **{name: row[name] for name in _USED[1:]},
            "nominal_hours": row["nominal_seconds"] / _HOUR_S,
            "used_hours": row["used_seconds"] / _HOUR_S,
            "borrowed_hours": row["borrowed_seconds"] / _HOUR_S,
            "unused_hours": (row["lent_seconds"] + row["idle_seconds"]) / _HOUR_S,
        }
        for row in rows
    ]


def _sums(
    reader: Reader, name: str, span: Span, by: tuple[str, ...], only: dict[str, str]
) -> list[Row]:
    database, bounds = reader.database, (span.begin_us, span.until_us)
    assert database is not None, "an archive is not served"
    of = reader.partition if reader.alone else None
    return reports.report_sums(database.records, database.dialect, name, bounds, by, only, of)


def _microseconds(at: datetime) -> int:
    return int(at.timestamp()) * _SECOND_US
