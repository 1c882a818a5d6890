"""The annotation ``tidegate.dev/price`` of a ResourceFlavor: ``cpu=0.04 EUR, memory=0.005 EUR/Gi``.

A price may be of a priority class, of own or of borrowed quota, and hold from a day until another.
What is not exactly that is refused, as every field that cannot be parsed.
"""

from __future__ import annotations

import re
from datetime import date

from tidegate.errors import QuantityError
from tidegate.kinds.kueue_api.queues.own_annotations import read_annotation, split_items
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import PRICE
from tidegate.model.quantity import amount
from tidegate.model.quota import Price, PricedQuota

PRICE_TEXT_MAX, PRICES_MAX = 4_096, 64
_DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
PRICE_PATTERN = (
    "^ *([A-Za-z0-9][-A-Za-z0-9_./]{0,315}) *= *([0-9]{1,12}(?:[.][0-9]{1,12})?) +([A-Z]{3})"
    "(?:/([kMGTPE]|[KMGTPE]i))?(?: +(own|borrowed))?(?: +class +([a-z0-9][-a-z0-9.]{0,252}))?"
    f"(?: +from +({_DAY}))?(?: +until +({_DAY}))? *$"
)
"""How one price is written; the admission policy has it, too."""
_PRICE = re.compile(PRICE_PATTERN, re.ASCII)
_QUOTA: dict[str | None, PricedQuota] = {None: "", "own": "own", "borrowed": "borrowed"}
_PRICES_SAID = (
    "a list such as cpu=0.04 EUR, memory=0.005 EUR/Gi, cpu=0.02 EUR class batch from 2026-04-01"
)


def prices(metadata: ObjectMeta) -> tuple[Price, ...]:
    """Return the prices of a ResourceFlavor's annotation, in order.

    Raises:
        UndecodableError: it cannot be parsed; the message has the cause.
    """
    return read_annotation(metadata, PRICE, read_prices, ())


def read_prices(text: str) -> tuple[Price, ...]:
    """Return the prices in an annotation's text, in order of resource, class, quota and day.

    Raises:
        QuantityError: it is no list of prices, or two of them begin on the same day.
    """
    parts = split_items(text, PRICE_TEXT_MAX, "prices", PRICES_MAX)
    by_begin = {
        (price.resource, price.priority_class, price.quota, price.begin): price
        for price in map(_price, parts)
    }
    if len(by_begin) < len(parts):
        raise QuantityError("Two prices of the same resource, class and quota begin together.")
    return tuple(by_begin[key] for key in sorted(by_begin))


def _price(text: str) -> Price:
    match = _PRICE.fullmatch(text)
    if match is None:
        raise QuantityError(f"{text[:80]!r} is no price: write {_PRICES_SAID}.")
    resource, cost, currency, suffix, quota, priority_class, begin, end = match.groups()
    for day in filter(None, (begin, end)):
        _refuse_no_day(day)
    if begin and end and end <= begin:
        raise QuantityError(f"A price that holds from {begin} until {end} never holds.")
    return Price(
        resource=resource,
        cost=cost,
        currency=currency,
        units=amount("", f"1{suffix}") if suffix else 1,
        priority_class=priority_class or "",
        quota=_QUOTA[quota],
        begin=begin or "",
        end=end or "",
    )


def _refuse_no_day(day: str) -> None:
    try:
        date.fromisoformat(day)
    except ValueError:
        raise QuantityError(f"{day} is no day.") from None
