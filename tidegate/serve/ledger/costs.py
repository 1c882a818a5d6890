"""What a month cost, and what became of quota in it: of full hours alone, which never change.

Sums over the reporting tables, with bounds that their keys can look up. A moment of the past cuts
the month off at its last full hour.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
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
_FOR_EVER = "9999-99-99"
_USED = (
    "SELECT {hour} AS at_hour_us, namespace, cluster_queue, flavor, resource, priority_class,"
    " SUM(unit_seconds) FROM report_usage"
    " WHERE partition = 0 AND hour_us >= :begin AND hour_us < :until{within}"
    " GROUP BY at_hour_us, namespace, cluster_queue, flavor, resource, priority_class"
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
_PRICES = (
    "SELECT flavor, resource, priority_class, quota, per_unit_hour, currency, day_from, day_until"
    " FROM report_price WHERE partition = 0 AND from_us <= :until"
)


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
    priority_class: str  # empty: any
    quota: str  # own, borrowed, or empty: either
    price: Price
    day_from: str
    day_until: str  # empty: for ever


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
        _Priced(f, r, c, q, Price(cost, currency), begin, end or "")
        for f, r, c, q, cost, currency, begin, end in database.select(_PRICES, until=span.until_us)
    ]
    apart = any(priced.quota for priced in prices)
    shares = _borrowed_shares(database, span) if apart else {}
    sums = defaultdict[tuple[Key, Price | None], float](float)
    statement = _USED.format(
        hour="hour_us" if apart else "0", within=" AND namespace = :namespace" if namespace else ""
    )
    more = {"namespace": namespace} if namespace else {}
    for begin_us, until_us in pairwise(_periods(prices, span)):
        in_force = partial(_price, prices, _day(begin_us))
        rows = database.select(statement, begin=begin_us, until=until_us, **more)
        for hour_us, *key, priority_class, used in rows:
            share = shares.get((hour_us, *key[1:]), 0.0)
            for quota, part in (("own", 1 - share), ("borrowed", share)):
                if part:
                    sums[tuple(key), in_force(key[2], key[3], priority_class, quota)] += used * part
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


def _borrowed_shares(database: Database, span: Span) -> dict[tuple[Any, ...], float]:
    """Return which part of what a queue used in an hour was borrowed, where any was.

    By hour, ClusterQueue, flavor and resource: see ``store.views.usage.split``.
    """
    bounds = {"begin": span.begin_us, "until": span.until_us}
    held = _steps(database.each(_HELD, **bounds), span)
    given = _steps(database.each(_NOMINAL, **bounds), span)
    shares = dict[tuple[Any, ...], float]()
    for key, steps in held.items():
        areas = _hourly(given.get(key, _STEADY).by_time(), steps.by_time(), span)
        for hour_us, (used, borrowed) in areas.items():
            if borrowed:
                shares[hour_us, *key] = borrowed / used
    return shares


def _hourly(
    to_nominal: Mapping[int, int], to_used: Mapping[int, int], span: Span
) -> dict[int, tuple[int, int]]:
    """Return what was used in each hour and what of it was borrowed, times microseconds."""
    hours = range(span.begin_us, span.until_us, HOUR_US)
    areas = defaultdict[int, tuple[int, int]](lambda: (0, 0))
    nominal = used = 0
    for at_us, next_us in pairwise(sorted({*to_nominal, *to_used, *hours, span.until_us})):
        nominal += to_nominal.get(at_us, 0)
        used += to_used.get(at_us, 0)
        hour_us, lasted = at_us // HOUR_US * HOUR_US, next_us - at_us
        before = areas[hour_us]
        areas[hour_us] = (
            before[0] + used * lasted,
            before[1] + max(0, used - nominal) * lasted,
        )
    return areas


def _periods(prices: Iterable[_Priced], span: Span) -> list[int]:
    """Return the bounds of the times in which every price holds, the span's own included."""
    days = {day for priced in prices for day in (priced.day_from, priced.day_until)}
    changes = {
        at_us for at_us in range(span.begin_us, span.until_us, DAY_US) if _day(at_us) in days
    }
    return sorted({span.begin_us, span.until_us, *changes})


def _price(  # noqa: PLR0913, PLR0917 - what a price depends on
    prices: Iterable[_Priced],
    day: str,
    flavor: str,
    resource: str,
    priority_class: str,
    quota: str,
) -> Price | None:
    """Return the most special price of a day: see ``store.views.usage.chargeback``."""
    known = (
        priced
        for priced in prices
        if (priced.flavor, priced.resource) == (flavor, resource)
        and priced.priority_class in {"", priority_class}
        and priced.quota in {"", quota}
        and priced.day_from <= day < (priced.day_until or _FOR_EVER)
    )
    special = max(
        known, key=lambda priced: (priced.priority_class != "", priced.quota), default=None
    )
    return None if special is None else special.price


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
