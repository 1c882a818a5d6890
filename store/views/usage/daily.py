"""Usage of each day, as own and borrowed quota where some price tells the two apart.

Whole days are kept (``store.reporting.closing``); of days that are asked for in part, and of the
newest hour, hours are added up.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
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

from store.reporting.tables import price, usage, usage_day
from store.views.expressions import asked, hour_of, larger, ledger_end, per, smaller
from store.views.usage.levels import by_hour, newest_hour
from store.views.usage.usage_hourly import NEWEST
from tidegate.model.calendar import DAY_US

LEFT_OUT = ("cluster", "cluster_queue", "local_queue", "namespace", "author")
"""What a sum over days need not tell apart: see ``store.reading.reports``."""
KEY = (*LEFT_OUT, "priority_class", "flavor", "resource")
_SUMS = ("unit_seconds", "borrowed_seconds")
_zero = cast(0, Double)
_tells_apart = exists(select(price.c.quota).where(price.c.quota != "").correlate(None))
_asked, _end = asked(), ledger_end()


def by_day_and_quota() -> CTE:
    """Return ``KEY``, day_us, quota (own, borrowed, or empty where no price asks), unit_seconds."""
    day = _by_day().c
    names = ["day_us", *KEY]
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

    A reader that wants no more leaves columns out of ``kept``, so that there are fewer rows to add
    a price to.
    """
    used = union_all(_days(), *_hours(), _newest()).subquery("used").c
    others = (used[name] for name in ("day_us", *KEY[len(LEFT_OUT) :], *_SUMS))
    kept = select(*(used[name].label(name) for name in LEFT_OUT), *others).cte("kept").c
    key = [kept[name] for name in ("day_us", *KEY)]
    sums = (func.sum(kept[name]).label(name) for name in _SUMS)
    return select(*key, *sums).group_by(*key).cte("by_day")


def _day_of(at_us: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's columns
    return at_us - at_us % literal(DAY_US, usage.c.hour_us.type)


_first_us = _day_of(_asked.c.begin_us + literal(DAY_US - 1, usage.c.hour_us.type))
_last_us = _day_of(_asked.c.end_us)
"""From where to where whole days are asked for."""


def _columns(table: Table, day_us: Any) -> Select[Any]:  # noqa: ANN401 - SQLAlchemy's columns
    row = table.c
    return select(day_us.label("day_us"), *(row[name] for name in (*KEY, *_SUMS)))


def _days() -> Select[Any]:
    row = usage_day.c
    whole = and_(row.day_us >= _first_us, row.day_us < _last_us)
    return _columns(usage_day, row.day_us).join_from(_asked, usage_day, whole)


def _hours() -> tuple[Select[Any], Select[Any]]:
    """Return the hours before the first whole day, and those behind the last."""
    row, newest_us = usage.c, hour_of(_end.c.at_us)
    begin_us, end_us = _asked.c.begin_us, _asked.c.end_us
    rows = (
        _columns(usage, _day_of(row.hour_us))
        .join_from(_asked, _end, literal(value=True))
        .join(usage, and_(usage.c.partition == _end.c.partition, row.hour_us < newest_us))
    )
    before = rows.where(row.hour_us >= begin_us, row.hour_us < smaller(_first_us, end_us))
    behind = rows.where(row.hour_us >= larger(_first_us, _last_us), row.hour_us < end_us)
    return before, behind


def _newest() -> Select[Any]:
    """Return the newest hour, whose borrowing is shared out as if it ended now."""
    row = NEWEST.c
    level = by_hour(newest_hour()).c
    share = per(level.borrowed, func.nullif(level.used, _zero))
    same = and_(
        *(row[name] == level[name] for name in ("partition", "cluster_queue", "flavor", "resource"))
    )
    borrowed = row.unit_seconds * func.coalesce(share, _zero)
    in_span = and_(row.hour_us >= _asked.c.begin_us, row.hour_us < _asked.c.end_us)
    return (
        select(
            _day_of(row.hour_us),
            *(row[name] for name in KEY),
            row.unit_seconds,
            borrowed.label("borrowed_seconds"),
        )
        .join_from(_asked, NEWEST, in_span)
        .outerjoin(level.borrowed.table, same)
    )
