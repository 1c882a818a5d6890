"""The pending workloads now: queue, rank, waiting time and reason.

A workload that has quota and waits for admission checks is in no queue, and has no rank.
"""

from __future__ import annotations

from sqlalchemy import case, func, or_

from store.reporting.tables import queue, wait, workload
from store.views.columns import ViewColumn, copied, duration, known, moment, shown, text
from store.views.expressions import is_local_queue, ledger_end, same

_w, _end = workload.c, ledger_end()
_local = queue.alias("local")
_named = func.nullif(_w.cluster_queue, "")
_cluster_queue = func.coalesce(_named, _local.c.parent, "")
_pending = _w.phase == "pending"
_place = func.row_number().over(
    partition_by=(_w.partition, _cluster_queue, _w.phase),
    order_by=(_w.priority.desc(), _w.queue_order_us, _w.uid, _w.workload),
)
_rank = case((_pending, _place))
_since_us = func.coalesce(wait.c.from_us, _w.phase_us)

COLUMNS = (
    *copied(_w, "cluster"),
    known("cluster_queue", _cluster_queue),
    ViewColumn(
        "priority_rank",
        "from 1",
        "its rank in the ClusterQueue by priority, then by creation, or instead by an eviction for "
        "pods not ready or a check's Retry, gated ones too; NULL: it is reserved",
        _rank,
    ),
    text("phase", "pending; reserved: it has quota, and waits for admission checks", _w.phase),
    *copied(_w, "workload job_kind job_name namespace local_queue author priority_class priority"),
    moment("since", "since when it waits, this time", _since_us),
    duration("waited_s", "how long, up to the ledger's newest event", _end.c.at_us - _since_us),
    moment("not_before", "backing off until then; NULL: it is not", _w.not_before_us),
    text("reason", "why it waits; empty: not tried yet", _w.reason),
    text("message", "the same in a sentence", _w.message),
    ViewColumn(
        "times_pending",
        "1",
        "how often it was tried, for another reason each time",
        func.coalesce(wait.c.times_pending, 0),
    ),
    *copied(_w, "partition"),
)
QUERY = (
    shown(COLUMNS)
    .select_from(workload)
    .join(_end, _end.c.partition == _w.partition)
    .outerjoin(wait, same(wait.c, _w, "partition workload") & wait.c.to_seq.is_(None))
    .outerjoin(_local, is_local_queue(_local.c, _w))
    .where(or_(_pending, _w.phase == "reserved"), _w.removed_seq.is_(None))
)
