"""The pending workloads now: queue, position, waiting time and reason.

Who holds quota and waits for admission checks stands in no queue any more, and has no position.
"""

from __future__ import annotations

from sqlalchemy import and_, case, func, or_, select

from store.reporting.tables import queue, wait, workload
from store.statements.clock import utc_text
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    JOB_KIND,
    JOB_NAME,
    LOCAL_QUEUE,
    NAMESPACE,
    PARTITION,
    PRIORITY,
    PRIORITY_CLASS,
    WORKLOAD,
    ViewColumn,
)
from store.views.expressions import ledger_end, seconds

NAME = "queue_now"
COLUMNS = (
    CLUSTER,
    CLUSTER_QUEUE,
    ViewColumn(
        "position",
        "from 1",
        "place in the ClusterQueue: priority, then age; NULL: it has quota, and waits for checks",
    ),
    WORKLOAD,
    JOB_KIND,
    JOB_NAME,
    NAMESPACE,
    LOCAL_QUEUE,
    AUTHOR,
    PRIORITY_CLASS,
    PRIORITY,
    ViewColumn("since", "UTC", "since when it waits, this time"),
    ViewColumn("waited_s", "s", "how long, up to the ledger's newest event"),
    ViewColumn("not_before", "UTC", "backing off until then; NULL: it is not"),
    ViewColumn("reason", "", "why it waits; empty: not tried yet"),
    ViewColumn("message", "", "the same in a sentence"),
    ViewColumn("times_pending", "1", "how often it was tried, for another reason each time"),
    PARTITION,
)

_w, _end = workload.c, ledger_end()
_local = queue.alias("local")
_named = func.nullif(_w.cluster_queue, "")
_cluster_queue = func.coalesce(_named, _local.c.parent, "")
_pending = _w.phase == "pending"
_rank = func.row_number().over(
    partition_by=(_w.partition, _cluster_queue, _w.phase),
    order_by=(_w.priority.desc(), _w.created_us, _w.uid),
)
_position = case((_pending, _rank))

QUERY = (
    select(
        _w.cluster,
        _cluster_queue.label("cluster_queue"),
        _position.label("position"),
        _w.workload,
        _w.job_kind,
        _w.job_name,
        _w.namespace,
        _w.local_queue,
        _w.author,
        _w.priority_class,
        _w.priority,
        utc_text(func.coalesce(wait.c.from_us, _w.phase_us)).label("since"),
        seconds(_end.c.at_us - func.coalesce(wait.c.from_us, _w.phase_us)).label("waited_s"),
        utc_text(_w.not_before_us).label("not_before"),
        _w.reason,
        _w.message,
        func.coalesce(wait.c.times_pending, 0).label("times_pending"),
        _w.partition,
    )
    .select_from(workload)
    .join(_end, _end.c.partition == _w.partition)
    .outerjoin(
        wait,
        and_(
            wait.c.partition == _w.partition,
            wait.c.workload == _w.workload,
            wait.c.to_seq.is_(None),
        ),
    )
    .outerjoin(
        _local,
        and_(
            _local.c.partition == _w.partition,
            _local.c.kind == "LocalQueue",
            _local.c.owner == _w.namespace + "/" + _w.local_queue,
            _local.c.to_seq.is_(None),
        ),
    )
    .where(or_(_pending, _w.phase == "reserved"), _w.removed_seq.is_(None))
)
