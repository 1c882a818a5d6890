"""Preemptions: who had to leave, for whom, what that freed, and what work was lost."""

from __future__ import annotations

from sqlalchemy import CTE, and_, func, select

from store.clock import utc_text
from store.expressions import ledger_end, seconds, units
from store.reporting.tables import holding, preemption
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    FLAVOR,
    LOCAL_QUEUE,
    NAMESPACE,
    PRIORITY,
    RESOURCE,
    UNIT,
    UNIT_SECONDS,
    WORKLOAD,
    ViewColumn,
)

NAME = "preemptions"
COLUMNS = (
    ViewColumn("at", "UTC", "when it was decided"),
    ViewColumn("seq", "seq", "the event WorkloadPreempted"),
    CLUSTER,
    WORKLOAD,
    NAMESPACE,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    AUTHOR,
    PRIORITY,
    ViewColumn("by", "", "the workload that it had to make room for"),
    ViewColumn("by_cluster_queue", "", "that one's ClusterQueue"),
    ViewColumn("reason", "", "InClusterQueue, InCohortReclamation, …"),
    ViewColumn("intent_seq", "seq", "the PreemptionIntended that named it; NULL: unknown"),
    ViewColumn("ran_s", "s", "from its admission to the decision"),
    ViewColumn("stopping_s", "s", "from the decision until its quota was free"),
    FLAVOR,
    RESOURCE,
    ViewColumn("freed", UNIT, "what came back; NULL until it did"),
    ViewColumn("work_lost", UNIT_SECONDS, "amount times time held, all of which is done again"),
)


def _held() -> CTE:
    """Return what each reservation held at its end, and its integral over time."""
    row, end = holding.c, ledger_end()
    amount = units(row.resource, row.amount)
    lasted = seconds(func.coalesce(row.to_us, end.c.at_us) - row.from_us)
    key = (row.partition, row.reservation_seq, row.flavor, row.resource)
    last = func.max(row.from_seq).over(partition_by=(*key, row.podset))
    each = (
        select(*key, row.from_seq, last.label("last_seq"), amount.label("amount"))
        .add_columns((amount * lasted).label("work"), row.to_seq)
        .join_from(holding, end, end.c.partition == row.partition)
        .cte("each_holding")
    )
    mine = (each.c.partition, each.c.reservation_seq, each.c.flavor, each.c.resource)
    at_end = func.sum(each.c.amount).filter(
        each.c.from_seq == each.c.last_seq, each.c.to_seq.is_not(None)
    )
    return (
        select(*mine, at_end.label("freed"), func.sum(each.c.work).label("work"))
        .group_by(*mine)
        .cte("held")
    )


_p, _h = preemption.c, _held()

QUERY = (
    select(
        utc_text(_p.at_us).label("at"),
        _p.seq,
        _p.cluster,
        _p.workload,
        _p.namespace,
        _p.cluster_queue,
        _p.local_queue,
        _p.author,
        _p.priority,
        _p.by,
        _p.by_cluster_queue,
        _p.reason,
        _p.intent_seq,
        seconds(_p.at_us - _p.admitted_us).label("ran_s"),
        seconds(_p.released_us - _p.at_us).label("stopping_s"),
        _h.c.flavor,
        _h.c.resource,
        _h.c.freed,
        _h.c.work.label("work_lost"),
    )
    .select_from(preemption)
    .outerjoin(
        _h,
        and_(_h.c.partition == _p.partition, _h.c.reservation_seq == _p.reservation_seq),
    )
)
