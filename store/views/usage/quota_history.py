"""Quota as it was: from when to when, and who changed it."""

from __future__ import annotations

from store.reporting.tables import quota
from store.views.columns import UNIT, ViewColumn, copied, moment, shown, text
from store.views.expressions import units

_q = quota.c

COLUMNS = (
    text("kind", "ClusterQueue or Cohort", _q.kind),
    text("owner", "its name", _q.owner),
    *copied(_q, "flavor resource"),
    ViewColumn("nominal", UNIT, "nominal quota", units(_q.resource, _q.nominal)),
    ViewColumn(
        "borrowing_limit",
        UNIT,
        "most that it may borrow; NULL: no limit",
        units(_q.resource, _q.borrowing_limit),
    ),
    ViewColumn(
        "lending_limit",
        UNIT,
        "most that it may lend; NULL: all of it",
        units(_q.resource, _q.lending_limit),
    ),
    moment("from_at", "since when", _q.from_us),
    ViewColumn("from_seq", "seq", "the event that set it", _q.from_seq),
    text("author", "who set it; empty if no policy stamped it", _q.author),
    moment("to_at", "until when; NULL: it still holds", _q.to_us),
    ViewColumn("to_seq", "seq", "the event that ended it", _q.to_seq),
    text(
        "ended_by", "who changed it; empty if it still holds, or no policy stamped it", _q.ended_by
    ),
    *copied(_q, "partition"),
)
QUERY = shown(COLUMNS)
