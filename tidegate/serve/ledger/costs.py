"""What a month cost, and what became of quota in it: of full hours alone, which never change.

Sums over the reporting tables, with bounds that their keys can look up. A moment of the past cuts
the month off at its last full hour.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from store.reading.database import Database
from tidegate.model import calendar
from tidegate.model.calendar import DAY_US, HOUR_US

Row: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, ...]
_SECOND_US, _HOUR_S = 1_000_000, 3_600
_USED = (
    "SELECT namespace, cluster_queue, flavor, resource, SUM(unit_seconds) FROM report_usage"
    " WHERE partition = 0 AND hour_us >= :begin AND hour_us < :until{}"
    " GROUP BY namespace, cluster_queue, flavor, resource"
)
_HELD = (
    "SELECT cluster_queue, flavor, resource, amount, from_us, to_us FROM report_holding"
    " WHERE partition = 0 AND from_us < :until AND (to_us IS NULL OR to_us > :begin)"
)
_NOMINAL = (
    "SELECT owner, flavor, resource, nominal, from_us, to_us FROM report_quota"
    " WHERE partition = 0 AND kind = 'ClusterQueue' AND from_us < :until"
    " AND (to_us IS NULL OR to_us > :begin)"
)
_PRICES = "SELECT flavor, resource, per_unit_hour, currency, valid_from, valid_until FROM price"


class Span(NamedTuple):
    """A month, or its part up to a moment, in UTC microseconds."""

    month: str  # 2026-03
    begin_us: int
    until_us: int  # a full hour


class Price(NamedTuple):
    """What a unit of a resource costs an hour."""

    per_unit_hour: float
    currency: str


class _Priced(NamedTuple):
    flavor: str
    resource: str
    price: Price
    valid_from: str  # a day; empty: always
    valid_until: str  # a day; empty: for ever


def span_of(month: str, at_us: int) -> Span:
    """Return a month up to a moment; empty: the month of that moment.

    Raises:
        ValueError: it is none.
    """
    within_us = _us(datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)) if month else at_us
    begin_us, end_us = calendar.span("month", within_us)
    until_us = min(end_us, at_us // HOUR_US * HOUR_US)
    return Span(calendar.utc_text(begin_us)[:7], begin_us, max(begin_us, until_us))


def cost_rows(database: Database, span: Span, namespace: str = "") -> list[Row]:
    """Return what each namespace used of each queue, flavor and resource, and what that cost."""
    prices = [
        _Priced(f, r, Price(p, c), a or "", b or "")
        for f, r, p, c, a, b in database.select(_PRICES)
    ]
    sums = defaultdict[tuple[Key, Price | None], float](float)
    statement = _USED.format(" AND namespace = :namespace" if namespace else "")
    more = {"namespace": namespace} if namespace else {}
    for begin_us, until_us in pairwise(_periods(prices, span)):
        in_force = partial(_price, prices, _day(begin_us))
        for *key, used in database.select(statement, begin=begin_us, until=until_us, **more):
            sums[tuple(key), in_force(key[2], key[3])] += used
    return [_cost(span, key, price, used) for (key, price), used in sorted(sums.items(), key=_by)]


def quota_rows(database: Database, span: Span) -> list[Row]:
    """Return what each ClusterQueue had of each flavor and resource, used, borrowed and left."""
    bounds = {"begin": span.begin_us, "until": span.until_us}
    held = _steps(database.each(_HELD, **bounds), span)
    given = _steps(database.each(_NOMINAL, **bounds), span)
    return [
        {
            "month": span.month,
            "cluster_queue": key[0],
            "flavor": key[1],
            "resource": key[2],
            **_areas(key[2], given.get(key, _STEADY), held.get(key, _STEADY), span),
        }
        for key in sorted(held.keys() | given.keys())
    ]


def _periods(prices: Iterable[_Priced], span: Span) -> list[int]:
    """Return the bounds of the times in which every price holds, the span's own included."""
    days = {day for one in prices for day in (one.valid_from, one.valid_until) if day}
    # As texts, as the report ``chargeback`` compares them: people write these rows by hand.
    changes = {
        at_us
        for at_us in range(span.begin_us + DAY_US, span.until_us, DAY_US)
        if any(_day(at_us - DAY_US) < day <= _day(at_us) for day in days)
    }
    return sorted({span.begin_us, span.until_us, *changes})


def _price(prices: Iterable[_Priced], day: str, flavor: str, resource: str) -> Price | None:
    known = [
        one
        for one in prices
        if (one.flavor, one.resource) == (flavor, resource) and one.valid_from <= day
    ]
    newest = max(known, key=lambda one: one.valid_from, default=None)
    if newest is None or (newest.valid_until and newest.valid_until <= day):
        return None
    return newest.price


def _by(item: tuple[tuple[Key, Price | None], float]) -> tuple[Key, Price]:
    (key, price), _ = item
    return key, price or Price(0, "")


def _cost(span: Span, key: Key, price: Price | None, unit_seconds: float) -> Row:
    hours = unit_seconds / _unit(key[3]) / _HOUR_S
    return {
        "month": span.month,
        "namespace": key[0],
        "cluster_queue": key[1],
        "flavor": key[2],
        "resource": key[3],
        "unit_hours": hours,
        "per_unit_hour": None if price is None else price.per_unit_hour,
        "cost": None if price is None else hours * price.per_unit_hour,
        "currency": None if price is None else price.currency,
    }


class _Steps:
    """When an amount changes, and by how much: in sixteen bytes each, for there are many."""

    __slots__ = ("_deltas", "_times")

    def __init__(self) -> None:
        self._times, self._deltas = array("q"), array("q")

    def add(self, at_us: int, delta: int) -> None:
        self._times.append(at_us)
        self._deltas.append(delta)

    def by_time(self) -> dict[int, int]:
        """Return the changes of each time together."""
        changes = dict[int, int]()
        for at_us, delta in zip(self._times, self._deltas, strict=True):
            changes[at_us] = changes.get(at_us, 0) + delta
        return changes


_STEADY = _Steps()


def _steps(rows: Iterable[Any], span: Span) -> dict[Key, _Steps]:
    """Return by how much each amount changes when, from and to the bounds of a span."""
    steps = defaultdict[Key, _Steps](_Steps)
    for queue, flavor, resource, amount, from_us, to_us in rows:
        changes = steps[queue, flavor, resource]
        changes.add(max(from_us, span.begin_us), amount)
        changes.add(span.until_us if to_us is None else min(to_us, span.until_us), -amount)
    return steps


def _areas(resource: str, given: _Steps, held: _Steps, span: Span) -> dict[str, float]:
    """Return amounts times hours: each is exact at every moment."""
    to_nominal, to_used = given.by_time(), held.by_time()
    nominal = used = 0
    areas = {"nominal": 0, "used": 0, "borrowed": 0, "unused": 0}
    for at_us, next_us in pairwise(sorted({*to_nominal, *to_used, span.until_us})):
        nominal += to_nominal.get(at_us, 0)
        used += to_used.get(at_us, 0)
        lasted = next_us - at_us
        areas["nominal"] += nominal * lasted
        areas["used"] += used * lasted
        areas["borrowed"] += max(0, used - nominal) * lasted
        areas["unused"] += max(0, nominal - used) * lasted
    unit = _unit(resource) * _HOUR_S * _SECOND_US
    return {f"{name}_hours": area / unit for name, area in areas.items()}


def _unit(resource: str) -> int:
    return 1_000 if resource == "cpu" else 1


def _us(at: datetime) -> int:
    return int(at.timestamp()) * _SECOND_US


def _day(at_us: int) -> str:
    return calendar.utc_text(at_us)[:10]
