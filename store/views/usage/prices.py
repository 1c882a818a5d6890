"""Prices: price per hour of each flavor's resource, first and last day, and author."""

from __future__ import annotations

from store.reporting.tables import price
from store.views.columns import ViewColumn, copied, moment, shown, text

_p = price.c

COLUMNS = (
    *copied(_p, "flavor resource"),
    text(
        "priority_class",
        "of its workloads; empty: of all without one of their own",
        _p.priority_class,
    ),
    text("quota", "own: within nominal quota; borrowed: above it; empty: either", _p.quota),
    ViewColumn(
        "per_unit_hour", "currency", "of one core, byte or device for an hour", _p.per_unit_hour
    ),
    text("currency", "of the price", _p.currency),
    ViewColumn("day_from", "UTC", "the first day that is charged by it", _p.day_from),
    ViewColumn(
        "day_until", "UTC", "the first day that is not any more; NULL: not known yet", _p.day_until
    ),
    moment("from_at", "when it was set", _p.from_us),
    ViewColumn("from_seq", "seq", "the event that set it", _p.from_seq),
    text("author", "who set it; empty if no policy stamped it", _p.author),
    moment("to_at", "when it was changed or taken away; NULL: the flavor bears it", _p.to_us),
    ViewColumn("to_seq", "seq", "the event that did", _p.to_seq),
    text("ended_by", "who did; empty if it still holds, or no policy stamped it", _p.ended_by),
    *copied(_p, "partition"),
)
QUERY = shown(COLUMNS)
