"""Prices of each flavor and resource: first and last day, and author.

A day is charged by the prices that its flavor bore when the day ended. So a change reaches the day
on which it is made and those behind it; to days that are over it gives a price only where they had
none, and where it says from which day on it holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from store.reporting.rows import PriceRow, plain
from store.reporting.unit_of_work import EventPosition, UnitOfWork
from tidegate.contracts import facts
from tidegate.model.calendar import utc_text
from tidegate.model.quota import Price

FOR_EVER = "9999-99-99"
"""Later than any day."""
Projected: TypeAlias = facts.FlavorDefined | facts.FlavorRemoved
_Key: TypeAlias = tuple[str, str, str]  # resource, priority class, quota
_Terms: TypeAlias = tuple[float, str, str, str]  # a unit's price, currency, begin, end


def uncovered_spans(
    begin: str, end: str, spans: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the parts of the days from ``begin`` until ``end`` that no other span takes."""
    free, at = list[tuple[str, str]](), begin
    for first, until in sorted(span for span in spans if span[0] < span[1]):
        if at < first:
            free.append((at, min(first, end)))
        at = max(at, until)
        if at >= end:
            return [span for span in free if span[0] < span[1]]
    return [span for span in (*free, (at, end)) if span[0] < span[1]]


def apply_price(unit: UnitOfWork, at: EventPosition, event: Projected) -> None:
    """Record what changed of a flavor's prices: what stays as it was keeps its rows and author."""
    prices = event.prices if isinstance(event, facts.FlavorDefined) else ()
    author = plain(event.author) if isinstance(event, facts.FlavorDefined) else ""
    prices_by_key = defaultdict[_Key, list[Price]](list)
    for price in prices:
        prices_by_key[price.resource, price.priority_class, price.quota].append(price)
    rows = unit.open_prices.setdefault(event.name, [])
    day = utc_text(at.at_us)[:10]
    before = defaultdict[_Key, list[PriceRow]](list)
    for row in rows:
        if row.to_seq is None:
            before[row.resource, row.priority_class, row.quota].append(row)
    changed = [
        key
        for key in sorted({*before, *prices_by_key})
        if _current_terms(before[key]) != _terms(prices_by_key[key])
    ]
    for key in changed:
        for row in before[key]:
            _end_price(row, at, day, author)
    rows_before = tuple(rows)
    for key in changed:
        for price, begin, end in _price_spans(prices_by_key[key], rows_before, day):
            row = _new_price(at, event.name, price, (begin, end), author)
            rows.append(unit.prices.add(row))


def unit_price(price: Price) -> float:
    """Return what one unit costs for an hour: a core, a byte, a device."""
    return float(price.cost) / price.units


def _terms(prices: Sequence[Price]) -> set[_Terms]:
    return {(unit_price(price), price.currency, price.begin, price.end) for price in prices}


def _current_terms(rows: Sequence[PriceRow]) -> set[_Terms]:
    return {(row.per_unit_hour, row.currency, row.written_from, row.written_until) for row in rows}


def _price_spans(
    prices: Sequence[Price], rows: Sequence[PriceRow], day: str
) -> Iterator[tuple[Price, str, str]]:
    """Yield each price of a key with its first and last day.

    From today on each until the next begins; of the days before those that have no price at all,
    whatever class or quota that would be of, so that none of them costs otherwise than it did.
    """
    if not prices:
        return
    ordered = sorted(prices, key=lambda price: price.begin)
    nexts = [price.begin for price in ordered[1:]] + [FOR_EVER]
    priced_days = [
        (row.day_from, row.day_until or FOR_EVER)
        for row in rows
        if row.resource == prices[0].resource
    ]
    for price, following in zip(ordered, nexts, strict=True):
        end = min(price.end or FOR_EVER, following)
        if price.begin and price.begin < day:
            yield from (
                (price, *span) for span in uncovered_spans(price.begin, min(end, day), priced_days)
            )
        begin = max(price.begin, day)
        yield price, begin, max(begin, end)


def _end_price(row: PriceRow, at: EventPosition, day: str, author: str) -> None:
    row.to_us, row.to_seq, row.ended_by = at.at_us, at.seq, author
    if row.day_until is None or row.day_until > day:
        row.day_until = max(day, row.day_from)


def _new_price(
    at: EventPosition, flavor: str, price: Price, span: tuple[str, str], author: str
) -> PriceRow:
    return PriceRow(
        partition=at.partition,
        flavor=flavor,
        resource=price.resource,
        priority_class=price.priority_class,
        quota=price.quota,
        from_seq=at.seq,
        written_from=price.begin,
        day_from=span[0],
        per_unit_hour=unit_price(price),
        currency=price.currency,
        written_until=price.end,
        author=author,
        from_us=at.at_us,
        day_until=None if span[1] == FOR_EVER else span[1],
    )
