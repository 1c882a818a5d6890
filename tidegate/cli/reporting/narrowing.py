"""The rows of a report that somebody asks for: of a time, a ClusterQueue, a namespace; added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import typer

from tidegate.cli.times import utc

Row = Mapping[str, Any]
_FOR_EVER = "9999-12-31T23:59:59Z"
_BEGINS, _ENDS = ("hour", "day", "at", "from_at", "reserved_at", "since"), "to_at"


class Span(NamedTuple):
    """A time, in UTC microseconds; 0: without a beginning, None: without an end."""

    begin_us: int = 0
    end_us: int | None = None


def within(rows: Sequence[Row], span: Span) -> list[Row]:
    """Return the rows that begin within a time, or, if they say when they end, touch it.

    An hour or a day counts if it begins within the time.

    Raises:
        BadParameter: the report tells no time.
    """
    if span == Span() or not rows:
        return list(rows)
    begins = next((name for name in _BEGINS if name in rows[0]), None)
    if begins is None:
        raise typer.BadParameter("This report tells how things are, not when: use --as-of.")
    return [row for row in rows if _is_within(row, begins, span)]


def _is_within(row: Row, begins: str, span: Span) -> bool:
    begun = row[begins] if "T" in row[begins] else f"{row[begins]}T00:00:00Z"
    ended = (row[_ENDS] or _FOR_EVER) if _ENDS in row else begun
    first, last = utc(span.begin_us), _FOR_EVER if span.end_us is None else utc(span.end_us)
    lasts = _ENDS in row and ended > first
    return (lasts or begun >= first) and begun < last


def only(rows: Sequence[Row], column: str, option: str, value: str) -> list[Row]:
    """Return the rows whose column has this value; all of them if the value is empty.

    Raises:
        BadParameter: the report has no such column.
    """
    if value and rows and column not in rows[0]:
        raise typer.BadParameter(f"This report has no column {column}, so {option} says nothing.")
    return [row for row in rows if not value or row[column] == value]


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
