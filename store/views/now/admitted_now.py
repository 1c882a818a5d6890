"""The workloads that hold quota now: how much of which flavor, and since when."""

from __future__ import annotations

from sqlalchemy import CTE, and_, func, select

from store.reporting.tables import holding, workload
from store.statements.clock import utc_text
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    FLAVOR,
    JOB_KIND,
    JOB_NAME,
    LOCAL_QUEUE,
    NAMESPACE,
    PARTITION,
    PRIORITY,
    PRIORITY_CLASS,
    RESOURCE,
    UNIT,
    WORKLOAD,
    ViewColumn,
)
from store.views.expressions import ledger_end, seconds, units

NAME = "admitted_now"
COLUMNS = (
    CLUSTER,
    CLUSTER_QUEUE,
    WORKLOAD,
    JOB_KIND,
    JOB_NAME,
    NAMESPACE,
    LOCAL_QUEUE,
    AUTHOR,
    PRIORITY_CLASS,
    PRIORITY,
    ViewColumn("phase", "", "reserved, admitted or evicting"),
    ViewColumn("reserved_at", "UTC", "since when quota is charged for it"),
    ViewColumn("admitted_at", "UTC", "since when it may run; NULL: its checks are not ready"),
    ViewColumn("held_s", "s", "since reserved_at, up to the ledger's newest event"),
    FLAVOR,
    RESOURCE,
    ViewColumn("pods", "1", "pods that are charged for"),
    ViewColumn("amount", UNIT, "what they hold together"),
    PARTITION,
)


def _held() -> CTE:
    """Return what each workload holds, its podsets added up."""
    row = holding.c
    key = (row.partition, row.workload, row.cluster_queue, row.flavor, row.resource)
    usage = select(*key, func.sum(row.pods).label("pods"), func.sum(row.amount).label("amount"))
    return usage.where(row.to_seq.is_(None)).group_by(*key).cte("held")


_w, _h, _end = workload.c, _held(), ledger_end()

QUERY = (
    select(
        _w.cluster,
        _h.c.cluster_queue,
        _w.workload,
        _w.job_kind,
        _w.job_name,
        _w.namespace,
        _w.local_queue,
        _w.author,
        _w.priority_class,
        _w.priority,
        _w.phase,
        utc_text(_w.reserved_us).label("reserved_at"),
        utc_text(_w.admitted_us).label("admitted_at"),
        seconds(_end.c.at_us - _w.reserved_us).label("held_s"),
        _h.c.flavor,
        _h.c.resource,
        _h.c.pods,
        units(_h.c.resource, _h.c.amount).label("amount"),
        _w.partition,
    )
    .select_from(workload)
    .join(_end, _end.c.partition == _w.partition)
    .join(_h, and_(_h.c.partition == _w.partition, _h.c.workload == _w.workload))
    .where(_w.removed_seq.is_(None))
)
