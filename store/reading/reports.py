"""Rows of a SQL report, for the command line: the database selects, sums and limits them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from store.views.texts import TEXTS, ViewText
from tidegate.errors import NotSupportedError, UnknownNameError

_NAME = re.compile(r"[a-z0-9][-a-z0-9./]{0,316}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_ANY_TIME = "(SELECT 0 AS begin_us, 4611686018427387904 AS end_us)"
"""How a view is asked for any time: see ``store.views.expressions.asked``."""
NEEDLESS = ("cluster", "cluster_queue", "local_queue", "namespace", "author")
"""What a price does not depend on: see ``store.views.usage.daily``."""
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")
_BEGINS, _ENDS = ("at", "from_at", "reserved_at", "since"), "to_at"


class TimeRange(NamedTuple):
    """A time, as reports write it: rows that begin within it, or say their end and touch it."""

    begin: str
    end: str  # the first moment that is not in it any more


def report_rows(  # noqa: PLR0913, PLR0917 - what asks, and what is asked for
    records: Callable[[str], list[dict[str, Any]]],
    dialect: str,
    name: str,
    only: Mapping[str, str] = {},
    rows_max: int | None = None,
    within: TimeRange | None = None,
    by: Sequence[str] = (),
    partition: int | None = None,
) -> list[dict[str, Any]]:
    """Return a report's rows, in the order of their values, whatever the database's collation.

    ``records`` runs a statement: ``store.reading.database.Database.records``; ``dialect`` is sqlite
    or postgresql, whose statement it is; ``only`` rows are
    wanted whose columns have these values, which may be names of Kubernetes' objects, and of a time
    those that begin ``within`` it, or touch it. ``by`` columns, the database adds them up: a row
    for each combination of values, with how many ``rows`` that was and the sums; NULL adds nothing.
    ``partition``: of one alone; None: of all.

    Raises:
        LedgerUnreachableError: the database does not answer.
        NotSupportedError: there are more than ``rows_max`` of them, or it has no such column.
        UnknownNameError: there is no such report, or a value is no name.
    """
    view = report(name)
    conditions, text = list(_value_conditions(view, only)), view.sql[dialect]
    if partition is not None:
        conditions.append(_partition_condition(view, partition))
    if within is not None and _ANY_TIME in text:
        text = _with_time_range(text, *_begin_range(view, within))
    else:
        conditions += _time_conditions(view, within)
    source = _source(view, dialect, _with_grouping(text, by, only))
    sql = f"SELECT {_select_list(view, by)} FROM {source}"  # noqa: S608 - names of ours
    if conditions:
        sql += f" WHERE {' AND '.join(conditions)}"
    if by:
        sql += f" GROUP BY {', '.join(by)}"
    reported = records(sql if rows_max is None else f"{sql} LIMIT {rows_max + 1}")
    if rows_max is not None and len(reported) > rows_max:
        raise NotSupportedError(
            f"The report {name} has more than {rows_max} rows here: ask for a time, a queue or a "
            "namespace, add them up, or take all of them with `tidegate report "
            f"{name} --limit 0` or SQL."
        )
    if any(None in row.values() for row in reported):
        return sorted(reported, key=lambda row: [(value is None, value) for value in row.values()])
    return sorted(reported, key=lambda row: tuple(row.values()))


def report_sums(  # noqa: PLR0913, PLR0917 - what asks, and what is asked for
    records: Callable[[str], list[dict[str, Any]]],
    dialect: str,
    name: str,
    span_us: tuple[int, int],
    by: Sequence[str],
    only: Mapping[str, str] = {},
    partition: int | None = None,
) -> list[dict[str, Any]]:
    """Return a report's rows summed over full hours, in the order of ``by``; see ``report_rows``.

    ``span_us`` begins and ends at full hours, in UTC microseconds.

    Raises:
        LedgerUnreachableError: the database does not answer.
        UnknownNameError: a value is no name.
    """
    view = report(name)
    conditions = list(_value_conditions(view, only))
    if partition is not None:
        conditions.append(_partition_condition(view, partition))
    text = _with_grouping(_with_time_range(view.sql[dialect], *span_us), by, only)
    sql = f"SELECT {_select_list(view, by)} FROM {_source(view, dialect, text)}"  # noqa: S608 - names of ours
    if conditions:
        sql += f" WHERE {' AND '.join(conditions)}"
    reported = records(f"{sql} GROUP BY {', '.join(by)}")
    return sorted(reported, key=lambda row: [(row[name] is None, row[name]) for name in by])


def _select_list(view: ViewText, by: Sequence[str]) -> str:
    """Return what is selected: every column, or those that are grouped by and the sums."""
    if not by:
        return "*"
    if unknown := [name for name in by if name not in view.columns]:
        raise NotSupportedError(
            f"The report {view.name} has no column {unknown[0][:80]}: "
            f"it has {', '.join(view.columns)}."
        )
    sums = (f"COALESCE(SUM({name}), 0) AS {name}" for name in view.sums)
    return ", ".join((*by, 'COUNT(*) AS "rows"', *sums))


def _source(view: ViewText, dialect: str, text: str) -> str:
    """Return the view, or another statement in its place.

    The view is named beside the statement, so that a role without rights on the view cannot run
    the statement.
    """
    if text == view.sql[dialect]:
        return view.name
    allowed = f"SELECT 1 FROM {view.name} WHERE 1 = 0"  # noqa: S608 - a name of ours
    return f"(SELECT * FROM ({text}) AS every WHERE NOT EXISTS ({allowed})) AS {view.name}"  # noqa: S608 - ours


def _with_time_range(text: str, begin_us: int, end_us: int) -> str:
    """Return a view's statement for a time: what sums over hours then sums over few."""
    span = f"(SELECT {begin_us} AS begin_us, {end_us} AS end_us)"
    return text.replace(_ANY_TIME, span)


def _begin_range(view: ViewText, within: TimeRange) -> tuple[int, int]:
    """Return a time in microseconds: of the days that begin in it, if the report is of days."""
    unit = _DAY if "day" in view.columns else _MICROSECOND
    begin, end = (datetime.fromisoformat(moment) - _EPOCH for moment in within)
    return -(-begin // unit) * unit // _MICROSECOND, -(-end // unit) * unit // _MICROSECOND


def _with_grouping(text: str, by: Sequence[str], only: Mapping[str, str]) -> str:
    """Return a statement without the columns that the caller adds up anyway.

    Each day's usage is then added up before it is given a price: see ``store.views.usage.daily``.
    """
    if not by:
        return text
    for name in set(NEEDLESS) - {*by, *only}:
        text = text.replace(f"used.{name} AS {name}", f"'' AS {name}")
        text = text.replace(f"used.{name}, ", "")  # of GROUP BY
    return text


def _value_conditions(view: ViewText, only: Mapping[str, str]) -> Iterator[str]:
    """Yield the conditions for values of columns; refuse a value that cannot be a name."""
    for column, value in only.items():
        if column not in view.columns:
            raise NotSupportedError(f"The report {view.name} has no column {column}.")
        if _NAME.fullmatch(value) is None:
            raise UnknownNameError(f"{value[:80]!r} is the name of no object.")
        yield f"{column} = '{value}'"


def _partition_condition(view: ViewText, partition: int) -> str:
    """Return the condition for a partition, if the report has the column."""
    if "partition" not in view.columns:
        raise NotSupportedError(
            f"The report {view.name} adds up all partitions: ask for it without --partition."
        )
    return f"partition = {partition}"


def _time_conditions(view: ViewText, within: TimeRange | None) -> Iterator[str]:
    if within is None:
        return
    assert all(map(_TIME.fullmatch, within)), "times are ours"
    column = next((name for name in _BEGINS if name in view.columns), None)
    if column is None:
        raise NotSupportedError(
            f"The report {view.name} tells how things are, not when: use --as-of."
        )
    began = f"{column} >= '{within.begin}'"
    if _ENDS in view.columns:
        began = f"({began} OR {_ENDS} IS NULL OR {_ENDS} > '{within.begin}')"
    yield began
    yield f"{column} < '{within.end}'"


def report(name: str) -> ViewText:
    """Return the report of this name.

    Raises:
        UnknownNameError: there is none; the message lists those there are.
    """
    if name not in TEXTS:
        names = ", ".join(sorted(TEXTS))
        raise UnknownNameError(f"There is no report {name!r}. There are: {names}.")
    return TEXTS[name]


def statement(dialect: str, name: str) -> str:
    """Return the SQL of a report, as this database runs it.

    Raises:
        UnknownNameError: there is no such report.
    """
    return report(name).sql[dialect]
