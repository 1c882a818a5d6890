"""Usage of each day, split into own and borrowed quota where prices differ for them.

Whole days are kept (``store.reporting.hourly``); of days that are asked for in part, and
of the newest hour, hours are added up.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    Select,
    Table,
    and_,
    case,
    cast,
    exists,
    func,
    literal,
    select,
    union_all,
)

from store.reading.reports import NEEDLESS
from store.reporting.tables import price, usage, usage_day
from store.views.expressions import hour_of, larger, ledger_end, per, requested_span, same, smaller
from store.views.usage.levels import by_hour, newest_hour
from store.views.usage.usage_hourly import NEWEST
from tidegate.model.calendar import DAY_US

KEY = (*NEEDLESS, "priority_class", "flavor", "resource")
_SUMS = ("unit_seconds", "borrowed_seconds")
_zero = cast(0, Double)
_tells_apart = exists(select(price.c.quota).where(price.c.quota != "").correlate(None))
_asked, _end = requested_span(), ledger_end()


def by_day_and_quota() -> CTE:
    """Return partition, day_us, ``KEY``, quota and unit_seconds.

    ``quota`` is own, borrowed, or empty where no price asks.
    """
    day = _by_day().c
    names = ["partition", "day_us", *KEY]
    borrowed = case((_tells_apart, day.borrowed_seconds), else_=_zero)
    within = select(
        *(day[name] for name in names),
        case((_tells_apart, "own"), else_="").label("quota"),
        (day.unit_seconds - borrowed).label("unit_seconds"),
    )
    above = select(
        *(day[name] for name in names),
        literal("borrowed").label("quota"),
        day.borrowed_seconds.label("unit_seconds"),
    ).where(_tells_apart, day.borrowed_seconds > _zero)
    return union_all(within, above).cte("daily")


def _by_day() -> CTE:
    """Add up what is asked for by day and key.

    A reader that wants no more leaves columns out (``store.reading.reports``), so that there are
    fewer rows to add a price to.
    """
    used = union_all(_days(), *_hours(), _newest()).subquery("used").c
    key = [used[name] for name in ("partition", *KEY, "day_us")]
    sums = (func.sum(used[name]).label(name) for name in _SUMS)
    return select(*key, *sums).group_by(*key).cte("by_day")


def _day_of(at_us: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's columns
    return at_us - at_us % literal(DAY_US, usage.c.hour_us.type)


_first_us = _day_of(_asked.c.begin_us + literal(DAY_US - 1, usage.c.hour_us.type))
_last_us = _day_of(_asked.c.end_us)
"""From where to where whole days are asked for."""


def _columns(table: Table, day_us: Any) -> Select[Any]:  # noqa: ANN401 - SQLAlchemy's columns
    row = table.c
    columns: list[ColumnElement[Any]] = [
        row.partition,
        day_us.label("day_us"),
        *(row[name] for name in (*KEY, *_SUMS)),
    ]
    return select(*columns)


def _days() -> Select[Any]:
    """Return whole days, added up where columns are left out: most of the rows there are."""
    days = usage_day.alias("used")
    row = days.c
    key = [row[name] for name in ("partition", *KEY, "day_us")]
    sums = (func.sum(row[name]).label(name) for name in _SUMS)
    whole = and_(row.day_us >= _first_us, row.day_us < _last_us)
    columns = row.partition, row.day_us, *key[1:-1], *sums
    return select(*columns).join_from(_asked, days, whole).group_by(*key)


def _hours() -> tuple[Select[Any], Select[Any]]:
    """Return the hours before the first whole day, and those behind the last; not the newest."""
    begin_us, until_us = _asked.c.begin_us, smaller(_asked.c.end_us, hour_of(_end.c.at_us))
    bounds = {
        "before_us": begin_us,
        "first_us": smaller(_first_us, until_us),
        "last_us": larger(_first_us, _last_us),
        "until_us": until_us,
    }
    columns = (bound.label(name) for name, bound in bounds.items())
    part = (
        select(_end.c.partition, *columns)
        .join_from(_asked, _end, literal(value=True))
        .cte("parts_of_days")
        .c
    )
    row = usage.c
    rows = _columns(usage, _day_of(row.hour_us)).join_from(
        part.until_us.table, usage, row.partition == part.partition
    )
    before = rows.where(row.hour_us >= part.before_us, row.hour_us < part.first_us)
    behind = rows.where(row.hour_us >= part.last_us, row.hour_us < part.until_us)
    return before, behind


def _newest() -> Select[Any]:
    """Return the newest hour; its borrowing is computed as if the hour ended now."""
    row = NEWEST.c
    level = by_hour(newest_hour()).c
    share = per(level.borrowed, func.nullif(level.used, _zero))
    of_queue = same(row, level, "partition cluster_queue flavor resource")
    borrowed = row.unit_seconds * func.coalesce(share, _zero)
    in_span = and_(row.hour_us >= _asked.c.begin_us, row.hour_us < _asked.c.end_us)
    columns: list[ColumnElement[Any]] = [
        row.partition,
        _day_of(row.hour_us),
        *(row[name] for name in KEY),
        row.unit_seconds,
        borrowed.label("borrowed_seconds"),
    ]
    return (
        select(*columns)
        .join_from(_asked, NEWEST, in_span)
        .outerjoin(level.borrowed.table, of_queue)
    )
