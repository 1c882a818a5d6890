"""The requested rows of a report: of a time span, and summed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from store.reading.reports import TimeRange
from tidegate.cli.times import utc

Row = Mapping[str, Any]
_FOR_EVER = "9999-12-31T23:59:59Z"


class Span(NamedTuple):
    """A time, in UTC microseconds; 0: without a beginning, None: without an end."""

    begin_us: int = 0
    end_us: int | None = None


def time_filter(span: Span) -> TimeRange | None:
    """Return a time as reports write it; None: any."""
    end = _FOR_EVER if span.end_us is None else utc(span.end_us)
    return None if span == Span() else TimeRange(utc(span.begin_us), end)


def group_rows(rows: Sequence[Row], columns: Sequence[str], sums: Sequence[str]) -> list[Row]:
    """Return one row for each combination of values of the columns: how many, and the sums.

    The rows are sums themselves, by these columns and maybe more.
    """
    added = dict[tuple[Any, ...], dict[str, Any]]()
    for row in rows:
        key = tuple(row[name] for name in columns)
        start = dict(zip(columns, key, strict=True)) | dict.fromkeys(("rows", *sums), 0)
        group = added.setdefault(key, start)
        for name in ("rows", *sums):
            group[name] += row[name]
    return [added[key] for key in sorted(added, key=lambda key: [(v is None, v) for v in key])]
