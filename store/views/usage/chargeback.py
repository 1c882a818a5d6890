"""Chargeback: each day's usage of each namespace and author, by the prices of that day.

Of the prices of a flavor and resource the most special one of that day counts: of its priority
class and quota, of its priority class, of its quota, of all.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, Integer, and_, case, cast, func, literal, or_, select

from store.reporting.tables import price
from store.statements.clock import utc_text
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    FLAVOR,
    LOCAL_QUEUE,
    NAMESPACE,
    PRIORITY_CLASS,
    RESOURCE,
    ViewColumn,
)
from store.views.expressions import per, units
from store.views.usage.split import usage_by_quota

NAME = "chargeback"
COLUMNS = (
    ViewColumn("day", "UTC", "the day, e.g. 2026-03-01"),
    CLUSTER,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    NAMESPACE,
    AUTHOR,
    PRIORITY_CLASS,
    FLAVOR,
    RESOURCE,
    ViewColumn("quota", "", "own or borrowed; empty while no price tells them apart"),
    ViewColumn("unit_hours", "unit · h", "amount times hours held on that day"),
    ViewColumn("per_unit_hour", "currency", "the price of that day; NULL: there was none"),
    ViewColumn("cost", "currency", "unit_hours times the price; NULL without one"),
    ViewColumn("currency", "", "of the price"),
    ViewColumn("price_from", "UTC", "the first day that is charged by this price"),
    ViewColumn("price_seq", "seq", "the event that set it"),
)
SUMS = ("unit_hours", "cost")

_GROUP = (
    *("cluster", "cluster_queue", "local_queue", "namespace", "author", "priority_class"),
    *("flavor", "resource", "quota"),
)
_PRICED = ("day", "flavor", "resource", "priority_class", "quota")


def _daily() -> CTE:
    usage = usage_by_quota().subquery("usage").c
    day = func.substr(utc_text(usage.hour_us), 1, 10)
    seconds = units(usage.resource, func.sum(usage.unit_seconds))
    return (
        select(
            day.label("day"),
            *(usage[name] for name in _GROUP),
            per(seconds, literal(3600.0)).label("unit_hours"),
        )
        .group_by(day, *(usage[name] for name in _GROUP))
        .cte("daily")
    )


def _rates(daily: CTE) -> CTE:
    """Return the price of each day, flavor, resource, class and quota that was used."""
    used = select(*(daily.c[name] for name in _PRICED)).distinct().cte("priced").c
    in_force = and_(
        price.c.flavor == used.flavor,
        price.c.resource == used.resource,
        or_(price.c.priority_class == "", price.c.priority_class == used.priority_class),
        or_(price.c.quota == "", price.c.quota == used.quota),
        price.c.day_from <= used.day,
        or_(price.c.day_until.is_(None), price.c.day_until > used.day),
    )
    special = cast(case((price.c.priority_class == "", 0), else_=2), Integer) + cast(
        case((price.c.quota == "", 0), else_=1), Integer
    )
    key: list[Any] = [used[name] for name in _PRICED]
    ranked = (
        select(
            *key,
            price.c.per_unit_hour,
            price.c.currency,
            price.c.day_from,
            price.c.from_seq,
            func.row_number().over(partition_by=key, order_by=special.desc()).label("place"),
        )
        .join_from(used.day.table, price, in_force)
        .cte("ranked")
    )
    return select(*ranked.c).where(ranked.c.place == 1).cte("rates")


_day = _daily()
_rate = _rates(_day)
_same = and_(*(_rate.c[name] == _day.c[name] for name in _PRICED))

QUERY = select(
    *_day.c,
    _rate.c.per_unit_hour,
    (_day.c.unit_hours * _rate.c.per_unit_hour).label("cost"),
    _rate.c.currency,
    _rate.c.day_from.label("price_from"),
    _rate.c.from_seq.label("price_seq"),
).outerjoin_from(_day, _rate, _same)
