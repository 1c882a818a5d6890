"""All waits: workload, queue, duration and outcome."""

from __future__ import annotations

from sqlalchemy import and_, func, select

from store.reporting.tables import queue, wait
from store.statements.clock import utc_text
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    NAMESPACE,
    PARTITION,
    PRIORITY,
    PRIORITY_CLASS,
    WORKLOAD,
    ViewColumn,
)
from store.views.expressions import ledger_end, seconds

NAME = "waits"
COLUMNS = (
    CLUSTER,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    NAMESPACE,
    WORKLOAD,
    AUTHOR,
    PRIORITY_CLASS,
    PRIORITY,
    ViewColumn("from_at", "UTC", "when it was queued or requeued"),
    ViewColumn("from_seq", "seq", "the event that queued it"),
    ViewColumn("reserved_at", "UTC", "when quota was reserved; NULL: not yet, or never"),
    ViewColumn("to_at", "UTC", "when the wait ended; NULL: it lasts"),
    ViewColumn("waited_s", "s", "how long; one that lasts: up to the ledger's newest event"),
    ViewColumn(
        "outcome", "", "admitted, adopted, evicted, deactivated, finished, removed, variants; empty"
    ),
    ViewColumn("reason", "", "why it waited last; empty: it was never held"),
    ViewColumn("times_pending", "1", "how often it was tried, for another reason each time"),
    PARTITION,
)
SUMS = ("waited_s",)

_w, _end = wait.c, ledger_end()
_local = queue.alias("local")
_until = func.coalesce(_w.to_us, _end.c.at_us)

QUERY = (
    select(
        _w.cluster,
        func.coalesce(func.nullif(_w.cluster_queue, ""), _local.c.parent, "").label(
            "cluster_queue"
        ),
        _w.local_queue,
        _w.namespace,
        _w.workload,
        _w.author,
        _w.priority_class,
        _w.priority,
        utc_text(_w.from_us).label("from_at"),
        _w.from_seq,
        utc_text(_w.reserved_us).label("reserved_at"),
        utc_text(_w.to_us).label("to_at"),
        seconds(_until - _w.from_us).label("waited_s"),
        _w.outcome,
        _w.reason,
        _w.times_pending,
        _w.partition,
    )
    .select_from(wait)
    .join(_end, _end.c.partition == _w.partition)
    .outerjoin(
        _local,
        and_(
            _local.c.partition == _w.partition,
            _local.c.kind == "LocalQueue",
            _local.c.owner == _w.namespace + "/" + _w.local_queue,
            _local.c.to_seq.is_(None),
        ),
    )
)
