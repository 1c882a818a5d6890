"""The rows of a report that somebody asks for: of a time, and added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import typer

from store.reading.reports import Within
from tidegate.cli.times import utc

Row = Mapping[str, Any]
_FOR_EVER = "9999-12-31T23:59:59Z"


class Span(NamedTuple):
    """A time, in UTC microseconds; 0: without a beginning, None: without an end."""

    begin_us: int = 0
    end_us: int | None = None


def within(span: Span) -> Within | None:
    """Return a time as reports write it; None: any."""
    end = _FOR_EVER if span.end_us is None else utc(span.end_us)
    return None if span == Span() else Within(utc(span.begin_us), end)


def grouped(rows: Sequence[Row], columns: Sequence[str], sums: Sequence[str]) -> list[Row]:
    """Return one row for each combination of values of the columns: how many, and the sums.

    What is NULL adds nothing.

    Raises:
        BadParameter: the report has no such column.
    """
    if not columns or not rows:
        return list(rows)
    if unknown := [name for name in columns if name not in rows[0]]:
        raise typer.BadParameter(
            f"This report has no column {unknown[0]}: it has {', '.join(rows[0])}."
        )
    added = dict[tuple[Any, ...], dict[str, Any]]()
    for row in rows:
        key = tuple(row[name] for name in columns)
        start = dict(zip(columns, key, strict=True)) | {"rows": 0} | dict.fromkeys(sums, 0)
        group = added.setdefault(key, start)
        group["rows"] += 1
        for name in sums:
            group[name] += row[name] or 0
    return [added[key] for key in sorted(added, key=lambda key: [(v is None, v) for v in key])]
