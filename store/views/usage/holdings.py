"""Intervals in which workloads held quota: the basis of all usage reports."""

from __future__ import annotations

from sqlalchemy import func

from store.reporting.tables import holding
from store.views.columns import UNIT, UNIT_SECONDS, ViewColumn, copied, moment, shown, text
from store.views.expressions import ledger_end, seconds, units

_h, _end = holding.c, ledger_end()
_held = seconds(func.coalesce(_h.to_us, _end.c.at_us) - _h.from_us)

COLUMNS = (
    *copied(
        _h, "cluster cluster_queue local_queue namespace workload author priority_class priority"
    ),
    text("podset", "podset of the workload", _h.podset),
    *copied(_h, "flavor resource"),
    ViewColumn("pods", "1", "pods that were charged for", _h.pods),
    ViewColumn("amount", UNIT, "what they held together", units(_h.resource, _h.amount)),
    moment("from_at", "since when", _h.from_us),
    ViewColumn("from_seq", "seq", "the event that charged it", _h.from_seq),
    moment("to_at", "until when; NULL: it is still held", _h.to_us),
    ViewColumn("to_seq", "seq", "the event that freed it", _h.to_seq),
    ViewColumn("held_s", "s", "how long; what lasts: up to the ledger's newest event", _held),
    ViewColumn(
        "resource_seconds",
        UNIT_SECONDS,
        "amount times held_s",
        units(_h.resource, _h.amount) * _held,
    ),
    *copied(_h, "partition"),
)
QUERY = shown(COLUMNS).select_from(holding).join(_end, _end.c.partition == _h.partition)
