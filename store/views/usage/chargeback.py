"""Chargeback: the cost of each day's usage by namespace and author, at the prices of that day.

Of the prices of a flavor and resource the most special one of that day counts: of its priority
class and quota, of its priority class, of its quota, of all.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Integer, and_, case, cast, exists, func, literal, or_, select

from store.reporting.tables import price
from store.statements.clock import utc_text
from store.views.columns import ViewColumn, copied, shown, text
from store.views.expressions import per, units
from store.views.usage.daily import KEY, by_day_and_quota

SUMS = ("unit_hours", "cost")

_daily = by_day_and_quota().c


def _counts(terms: Any) -> ColumnElement[bool]:  # noqa: ANN401 - a table's columns
    """Return whether a price applies to a row's day, class and quota.

    Each partition notes the prices of all flavors.
    """
    day = _day(_daily.day_us)
    return and_(
        terms.partition == _daily.partition,
        terms.flavor == _daily.flavor,
        terms.resource == _daily.resource,
        or_(terms.priority_class == "", terms.priority_class == _daily.priority_class),
        or_(terms.quota == "", terms.quota == _daily.quota),
        terms.day_from <= day,
        or_(terms.day_until.is_(None), terms.day_until > day),
    )


def _special(terms: Any) -> ColumnElement[int]:  # noqa: ANN401 - a table's columns
    """Return how special a price is: of a class, then of a quota."""
    of_class = cast(case((terms.priority_class == "", 0), else_=2), Integer)
    return of_class + cast(case((terms.quota == "", 0), else_=1), Integer)


def _day(at_us: ColumnElement[Any]) -> ColumnElement[str]:
    return func.substr(utc_text(at_us), 1, 10)


_rate, _other = price.c, price.alias("other").c
_more_special = exists(
    select(_other.flavor)
    .where(_counts(_other), _special(_other) > _special(_rate))
    .correlate(price, _daily.flavor.table)
)
_hours = per(units(_daily.resource, _daily.unit_seconds), literal(3600.0))

COLUMNS = (
    ViewColumn("day", "UTC", "the day, e.g. 2026-03-01", _day(_daily.day_us)),
    *copied(_daily, " ".join(KEY)),
    text("quota", "own or borrowed; empty while no price tells them apart", _daily.quota),
    ViewColumn("unit_hours", "unit · h", "amount times hours held on that day", _hours),
    ViewColumn(
        "per_unit_hour",
        "currency",
        "the price of that day; NULL: there was none",
        _rate.per_unit_hour,
    ),
    ViewColumn(
        "cost",
        "currency",
        "unit_hours times the price; NULL without one",
        _hours * _rate.per_unit_hour,
    ),
    text("currency", "of the price", _rate.currency),
    ViewColumn("price_from", "UTC", "the first day that is charged by this price", _rate.day_from),
    ViewColumn("price_seq", "seq", "the event that set it", _rate.from_seq),
    *copied(_daily, "partition"),
)
QUERY = shown(COLUMNS).outerjoin_from(
    _daily.flavor.table, price, and_(_counts(_rate), ~_more_special)
)
