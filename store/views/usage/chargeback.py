"""Chargeback: each day's usage of each namespace and author, by the prices of that day."""

from __future__ import annotations

from sqlalchemy import and_, func, literal, or_, select

from store.reporting.tables import price
from store.statements.clock import utc_text
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    FLAVOR,
    LOCAL_QUEUE,
    NAMESPACE,
    RESOURCE,
    ViewColumn,
)
from store.views.expressions import per, units
from store.views.usage.usage_hourly import ALL_USAGE

NAME = "chargeback"
COLUMNS = (
    ViewColumn("day", "UTC", "the day, e.g. 2026-03-01"),
    CLUSTER,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    NAMESPACE,
    AUTHOR,
    FLAVOR,
    RESOURCE,
    ViewColumn("unit_hours", "unit · h", "amount times hours held on that day"),
    ViewColumn("per_unit_hour", "currency", "the price of that day; NULL: the table has none"),
    ViewColumn("cost", "currency", "unit_hours times the price; NULL without one"),
    ViewColumn("currency", "", "of the price"),
    ViewColumn("price_from", "UTC", "the day the price holds from; empty: always"),
)
SUMS = ("unit_hours", "cost")

_GROUP = ("cluster", "cluster_queue", "local_queue", "namespace", "author", "flavor", "resource")
_day = func.substr(utc_text(ALL_USAGE.c.hour_us), 1, 10)
_seconds = units(ALL_USAGE.c.resource, func.sum(ALL_USAGE.c.unit_seconds))
_daily = (
    select(
        _day.label("day"),
        *(ALL_USAGE.c[name] for name in _GROUP),
        per(_seconds, literal(3600.0)).label("unit_hours"),
    )
    .group_by(_day, *(ALL_USAGE.c[name] for name in _GROUP))
    .cte("daily")
)

_newer = price.alias("newer")
_newest = (
    select(func.max(_newer.c.valid_from))
    .where(
        _newer.c.flavor == _daily.c.flavor,
        _newer.c.resource == _daily.c.resource,
        _newer.c.valid_from <= _daily.c.day,
    )
    .correlate(_daily)
    .scalar_subquery()
)
_in_force = and_(
    price.c.flavor == _daily.c.flavor,
    price.c.resource == _daily.c.resource,
    price.c.valid_from == _newest,
    or_(price.c.valid_until.is_(None), price.c.valid_until > _daily.c.day),
)

QUERY = select(
    _daily,
    price.c.per_unit_hour,
    (_daily.c.unit_hours * price.c.per_unit_hour).label("cost"),
    price.c.currency,
    price.c.valid_from.label("price_from"),
).outerjoin_from(_daily, price, _in_force)
