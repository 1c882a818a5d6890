"""Quota as it was: from when to when, and who changed it."""

from __future__ import annotations

from sqlalchemy import select

from store.reporting.tables import quota
from store.statements.clock import utc_text
from store.views.columns import FLAVOR, PARTITION, RESOURCE, UNIT, ViewColumn
from store.views.expressions import units

NAME = "quota_history"
COLUMNS = (
    ViewColumn("kind", "", "ClusterQueue or Cohort"),
    ViewColumn("owner", "", "its name"),
    FLAVOR,
    RESOURCE,
    ViewColumn("nominal", UNIT, "nominal quota"),
    ViewColumn("borrowing_limit", UNIT, "most that it may borrow; NULL: no limit"),
    ViewColumn("lending_limit", UNIT, "most that it may lend; NULL: all of it"),
    ViewColumn("from_at", "UTC", "since when"),
    ViewColumn("from_seq", "seq", "the event that set it"),
    ViewColumn("author", "", "who set it; empty if no policy stamped it"),
    ViewColumn("to_at", "UTC", "until when; NULL: it still holds"),
    ViewColumn("to_seq", "seq", "the event that ended it"),
    ViewColumn("ended_by", "", "who changed it; empty if it still holds or nobody was stamped"),
    PARTITION,
)

_q = quota.c

QUERY = select(
    _q.kind,
    _q.owner,
    _q.flavor,
    _q.resource,
    units(_q.resource, _q.nominal).label("nominal"),
    units(_q.resource, _q.borrowing_limit).label("borrowing_limit"),
    units(_q.resource, _q.lending_limit).label("lending_limit"),
    utc_text(_q.from_us).label("from_at"),
    _q.from_seq,
    _q.author,
    utc_text(_q.to_us).label("to_at"),
    _q.to_seq,
    _q.ended_by,
    _q.partition,
)
