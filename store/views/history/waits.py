"""All waits: workload, queue, duration and outcome."""

from __future__ import annotations

from sqlalchemy import func

from store.reporting.tables import queue, wait
from store.views.columns import ViewColumn, copied, duration, known, moment, shown, text
from store.views.expressions import is_local_queue, ledger_end

SUMS = ("waited_s",)

_w, _end = wait.c, ledger_end()
_local = queue.alias("local")
_until = func.coalesce(_w.to_us, _end.c.at_us)

COLUMNS = (
    *copied(_w, "cluster"),
    known("cluster_queue", func.coalesce(func.nullif(_w.cluster_queue, ""), _local.c.parent, "")),
    *copied(_w, "local_queue namespace workload author priority_class priority"),
    moment("from_at", "when it was queued or requeued", _w.from_us),
    ViewColumn("from_seq", "seq", "the event that queued it", _w.from_seq),
    moment("reserved_at", "when quota was reserved; NULL: not yet, or never", _w.reserved_us),
    moment("to_at", "when the wait ended; NULL: it lasts", _w.to_us),
    duration(
        "waited_s", "how long; one that lasts: up to the ledger's newest event", _until - _w.from_us
    ),
    text(
        "outcome",
        "admitted, adopted, evicted, deactivated, finished, removed, variants; empty",
        _w.outcome,
    ),
    text("reason", "why it waited last; empty: it was never held", _w.reason),
    ViewColumn(
        "times_pending",
        "1",
        "how often it was tried, for another reason each time",
        _w.times_pending,
    ),
    *copied(_w, "partition"),
)
QUERY = (
    shown(COLUMNS)
    .select_from(wait)
    .join(_end, _end.c.partition == _w.partition)
    .outerjoin(_local, is_local_queue(_local.c, _w))
)
