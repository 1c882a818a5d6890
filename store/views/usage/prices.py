"""Prices: price per hour of each flavor's resource, first and last day, and author."""

from __future__ import annotations

from sqlalchemy import select

from store.reporting.tables import price
from store.statements.clock import utc_text
from store.views.columns import FLAVOR, PARTITION, RESOURCE, ViewColumn

NAME = "prices"
COLUMNS = (
    FLAVOR,
    RESOURCE,
    ViewColumn("priority_class", "", "of its workloads; empty: of all without one of their own"),
    ViewColumn("quota", "", "own: within nominal quota; borrowed: above it; empty: either"),
    ViewColumn("per_unit_hour", "currency", "of one core, byte or device for an hour"),
    ViewColumn("currency", "", "of the price"),
    ViewColumn("day_from", "UTC", "the first day that is charged by it"),
    ViewColumn("day_until", "UTC", "the first day that is not any more; NULL: not known yet"),
    ViewColumn("from_at", "UTC", "when it was set"),
    ViewColumn("from_seq", "seq", "the event that set it"),
    ViewColumn("author", "", "who set it; empty if no policy stamped it"),
    ViewColumn("to_at", "UTC", "when it was changed or taken away; NULL: the flavor bears it"),
    ViewColumn("to_seq", "seq", "the event that did"),
    ViewColumn("ended_by", "", "who did; empty if it still holds or nobody was stamped"),
    PARTITION,
)

_p = price.c

QUERY = select(
    _p.flavor,
    _p.resource,
    _p.priority_class,
    _p.quota,
    _p.per_unit_hour,
    _p.currency,
    _p.day_from,
    _p.day_until,
    utc_text(_p.from_us).label("from_at"),
    _p.from_seq,
    _p.author,
    utc_text(_p.to_us).label("to_at"),
    _p.to_seq,
    _p.ended_by,
    _p.partition,
)
