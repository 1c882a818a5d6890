"""Preemptions: victim, preemptor, freed quota and lost run time."""

from __future__ import annotations

from sqlalchemy import CTE, ColumnElement, and_, func, or_, select

from store.reporting.tables import holding, preemption
from store.statements.clock import utc_text
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    FLAVOR,
    LOCAL_QUEUE,
    NAMESPACE,
    PARTITION,
    PRIORITY,
    RESOURCE,
    UNIT,
    UNIT_SECONDS,
    WORKLOAD,
    ViewColumn,
)
from store.views.expressions import ledger_end, seconds, units

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
    ViewColumn("planned", UNIT, "what it held when it was decided"),
    ViewColumn("freed", UNIT, "what really came back; NULL until it did"),
    ViewColumn("work_lost", UNIT_SECONDS, "amount times time held, all of which is done again"),
    PARTITION,
)
SUMS = ("ran_s",)


def _held() -> CTE:
    """Return what each preempted reservation held when it was decided and at its end.

    Beside it stands its integral over time, which is the work that is lost.
    """
    row, end, gone = holding.c, ledger_end(), preemption.c
    amount = units(row.resource, row.amount)
    lasted = seconds(func.coalesce(row.to_us, end.c.at_us) - row.from_us)
    key = (gone.partition, gone.seq, row.flavor, row.resource)
    last = func.max(row.from_seq).over(partition_by=(*key, row.podset))
    each = (
        select(*key, row.from_seq, last.label("last_seq"), amount.label("amount"))
        .add_columns((amount * lasted).label("work"), row.to_seq)
        .join_from(preemption, holding, _same_reservation())
        .join(end, end.c.partition == row.partition)
        .cte("each_holding")
    )
    then = and_(
        each.c.from_seq < each.c.seq, or_(each.c.to_seq.is_(None), each.c.to_seq > each.c.seq)
    )
    mine = (each.c.partition, each.c.seq, each.c.flavor, each.c.resource)
    at_end = and_(each.c.from_seq == each.c.last_seq, each.c.to_seq.is_not(None))
    return (
        select(
            *mine,
            func.sum(each.c.amount).filter(then).label("planned"),
            func.sum(each.c.amount).filter(at_end).label("freed"),
            func.sum(each.c.work).label("work"),
        )
        .group_by(*mine)
        .cte("held")
    )


def _same_reservation() -> ColumnElement[bool]:
    return and_(
        holding.c.partition == preemption.c.partition,
        holding.c.reservation_seq == preemption.c.reservation_seq,
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
        _h.c.planned,
        _h.c.freed,
        _h.c.work.label("work_lost"),
        _p.partition,
    )
    .select_from(preemption)
    .outerjoin(
        _h,
        and_(_h.c.partition == _p.partition, _h.c.seq == _p.seq),
    )
)
