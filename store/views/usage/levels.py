"""Each ClusterQueue's quota and usage as levels: what holds from one change to the next.

An amount above nominal is borrowed at that moment, whatever the rest of the hour was like; so each
difference is taken of levels, and only then summed over time. Levels also end at each full hour:
an hour in which nothing changed, or nothing was used, has its rows as well.
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
    cast,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
)

from store.reporting.tables import holding, quota
from store.statements.clock import HOUR_US
from store.views.expressions import asked, hour_of, larger, ledger_end, seconds, smaller

KEY = ("partition", "cluster_queue", "flavor", "resource")
_SUMMED = ("used", "nominal", "lends")
_HOUR = literal(HOUR_US, quota.c.from_us.type)
_zero = cast(0, Double)
_end = ledger_end()


def hours(asked_for: CTE) -> CTE:
    """Return every hour from the first quota to the ledger's newest time, of those asked for."""
    begin_us = larger(func.min(quota.c.from_us), asked_for.c.begin_us)
    first = (
        select(
            quota.c.partition,
            hour_of(begin_us).label("hour_us"),
            hour_of(smaller(_end.c.at_us, asked_for.c.end_us - 1)).label("newest_us"),
        )
        .join_from(quota, _end, _end.c.partition == quota.c.partition)
        .join(asked_for, true())
        .group_by(quota.c.partition, _end.c.at_us, asked_for.c.begin_us, asked_for.c.end_us)
        .cte("each_hour", recursive=True)
    )
    level = first.c
    return first.union_all(
        select(level.partition, level.hour_us + _HOUR, level.newest_us).where(
            level.hour_us < level.newest_us
        )
    )


EACH_HOUR = hours(asked())
"""One row an hour: partition, hour_us, newest_us."""


def by_hour(asked_for: CTE, each_hour: CTE) -> CTE:
    """Return what each hour's levels come to, in base units times seconds.

    ``asked_for`` is the time that is wanted, ``each_hour`` the hours of it.

    Columns: the key, hour_us, and nominal, used, borrowed (above nominal), idle (below nominal) and
    lendable (of idle, what the lending limit lets go).
    """
    level = _levels(asked_for, each_hour).c
    key = [level[name] for name in KEY]
    hour_us = hour_of(level.at_us)
    lasted = seconds(level.next_us - level.at_us)
    idle = larger(level.nominal - level.used, _zero)
    amounts = {
        "nominal": level.nominal,
        "used": level.used,
        "borrowed": larger(level.used - level.nominal, _zero),
        "idle": idle,
        "lendable": smaller(idle, level.lends),
    }
    sums = [func.sum(amount * lasted).label(name) for name, amount in amounts.items()]
    return (
        select(*key, hour_us.label("hour_us"), *sums)
        .where(level.next_us > level.at_us, (level.nominal > _zero) | (level.used > _zero))
        .group_by(*key, hour_us)
        .cte("by_hour")
    )


def _levels(asked_for: CTE, each_hour: CTE) -> CTE:
    """Return every level, from ``at_us`` to ``next_us``, which lie in one hour."""
    change = _changes(asked_for, each_hour).subquery("change").c
    key = [change[name] for name in KEY]
    at_once = (
        select(
            *key,
            change.at_us,
            *(func.sum(change[name]).label(name) for name in _SUMMED),
        )
        .group_by(*key, change.at_us)
        .cte("at_once")
    )
    row = at_once.c
    over: dict[str, Any] = {"partition_by": [row[name] for name in KEY], "order_by": row.at_us}
    return (
        select(
            *(row[name] for name in KEY),
            row.at_us,
            *(func.sum(row[name]).over(**over).label(name) for name in _SUMMED),
            func.coalesce(
                func.lead(row.at_us).over(**over), smaller(_end.c.at_us, asked_for.c.end_us)
            ).label("next_us"),
        )
        .join_from(at_once, _end, _end.c.partition == row.partition)
        .join(asked_for, true())
        .cte("level")
    )


def _changes(asked_for: CTE, each_hour: CTE) -> Any:  # noqa: ANN401 - SQLAlchemy's CompoundSelect
    """Return by how much which level changes when: beginnings, ends, and nothing at full hours."""
    nothing = (_zero, _zero, _zero)
    keys = _keys(asked_for)
    full = select(*(keys.c[name] for name in KEY), each_hour.c.hour_us, *nothing)
    return union_all(
        *(_held(sign, asked_for) for sign in (1, -1)),
        *(_given(sign, asked_for) for sign in (1, -1)),
        full.join_from(keys, each_hour, each_hour.c.partition == keys.c.partition),
    )


def _keys(asked_for: CTE) -> CTE:
    """Return every queue and flavor-resource that ever had quota, or was used within the time."""
    row = quota.c
    quotas = select(row.partition, row.owner.label("cluster_queue"), row.flavor, row.resource)
    used = select(*(holding.c[name] for name in KEY)).join_from(
        holding, asked_for, _touches(holding, asked_for)
    )
    return quotas.where(row.kind == "ClusterQueue").union(used).cte("keys")


def _touches(table: Table, asked_for: CTE) -> ColumnElement[bool]:
    """Return whether a row lasts within the time that is asked for."""
    row = table.c
    return and_(
        row.from_us < asked_for.c.end_us, or_(row.to_us.is_(None), row.to_us > asked_for.c.begin_us)
    )


def _changed_us(table: Table, sign: int, asked_for: CTE) -> ColumnElement[Any]:
    """Return when a row begins to count, or ceases to."""
    row = table.c
    return larger(row.from_us, asked_for.c.begin_us) if sign > 0 else row.to_us


def _held(sign: int, asked_for: CTE) -> Select[Any]:
    row, at_us = holding.c, _changed_us(holding, sign, asked_for)
    return (
        select(
            *(row[name] for name in KEY),
            at_us.label("at_us"),
            (cast(row.amount, Double) * sign).label("used"),
            _zero.label("nominal"),
            _zero.label("lends"),
        )
        .join_from(holding, asked_for, _touches(holding, asked_for))
        .where(at_us < asked_for.c.end_us)
    )


def _given(sign: int, asked_for: CTE) -> Select[Any]:
    row, at_us = quota.c, _changed_us(quota, sign, asked_for)
    lends = smaller(func.coalesce(row.lending_limit, row.nominal), row.nominal)
    columns: list[ColumnElement[Any]] = [
        *(row.partition, row.owner, row.flavor, row.resource, at_us, _zero),
        cast(row.nominal, Double) * sign,
        cast(lends, Double) * sign,
    ]
    touching = select(*columns).join_from(quota, asked_for, _touches(quota, asked_for))
    return touching.where(row.kind == "ClusterQueue", at_us < asked_for.c.end_us)
