"""Preemptions: victim, preemptor, freed quota and lost run time."""

from __future__ import annotations

from sqlalchemy import CTE, and_, func, or_, select

from store.reporting.tables import holding, preemption
from store.views.columns import (
    UNIT,
    UNIT_SECONDS,
    ViewColumn,
    copied,
    duration,
    moment,
    shown,
    text,
)
from store.views.expressions import ledger_end, same, seconds, units

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
        .join_from(preemption, holding, same(row, gone, "partition reservation_seq"))
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


_p, _h = preemption.c, _held()

COLUMNS = (
    moment("at", "when it was decided", _p.at_us),
    ViewColumn("seq", "seq", "the event WorkloadPreempted", _p.seq),
    *copied(_p, "cluster workload namespace cluster_queue local_queue author priority"),
    text("by", "the workload that it had to make room for", _p.by),
    text("by_cluster_queue", "that one's ClusterQueue", _p.by_cluster_queue),
    text("reason", "InClusterQueue, InCohortReclamation, …", _p.reason),
    ViewColumn(
        "intent_seq", "seq", "the PreemptionIntended that named it; NULL: unknown", _p.intent_seq
    ),
    duration("ran_s", "from its admission to the decision", _p.at_us - _p.admitted_us),
    duration("stopping_s", "from the decision until its quota was free", _p.released_us - _p.at_us),
    *copied(_h.c, "flavor resource"),
    ViewColumn("planned", UNIT, "what it held when it was decided", _h.c.planned),
    ViewColumn("freed", UNIT, "what really came back; NULL until it did", _h.c.freed),
    ViewColumn(
        "work_lost", UNIT_SECONDS, "amount times time held, all of which is done again", _h.c.work
    ),
    *copied(_p, "partition"),
)
QUERY = shown(COLUMNS).select_from(preemption).outerjoin(_h, same(_h.c, _p, "partition seq"))
