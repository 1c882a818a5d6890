"""Preemptions: the evicted workload, the preemptor, and when the quota was released."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from store.reporting.rows import PreemptionRow, plain
from store.reporting.unit_of_work import Place, UnitOfWork
from tidegate.contracts import decisions, facts

Projected: TypeAlias = (
    decisions.WorkloadPreempted
    | decisions.QuotaReleased
    | facts.WorkloadFinished
    | facts.WorkloadRemoved
)


def take(unit: UnitOfWork, at: Place, event: Projected) -> None:
    """Record a preemption, and when its victim's quota is free."""
    match event:
        case decisions.WorkloadPreempted():
            _preempt(unit, at, event)
        case decisions.QuotaReleased() | facts.WorkloadFinished() | facts.WorkloadRemoved():
            for row in unit.leaving.pop(event.workload, []):
                row.released_us, row.released_seq = at.at_us, at.seq
        case _:
            assert_never(event)


def _preempt(unit: UnitOfWork, at: Place, event: decisions.WorkloadPreempted) -> None:
    victim = unit.live.get(event.workload)
    if victim is None:
        return
    preemptor = unit.live.get(event.by)
    row = PreemptionRow(
        partition=at.partition,
        seq=at.seq,
        at_us=at.at_us,
        cluster=at.cluster,
        workload=event.workload,
        uid=event.uid or victim.uid,
        namespace=victim.namespace,
        local_queue=victim.local_queue,
        cluster_queue=event.cluster_queue or victim.cluster_queue,
        author=victim.author,
        priority=victim.priority,
        by=event.by,
        by_uid=event.by_uid,
        by_cluster_queue=event.by_cluster_queue,
        reason=event.reason,
        message=plain(event.message),
        intent_seq=None if preemptor is None else preemptor.intent_seq,
        reservation_seq=victim.reservation_seq,
        admitted_us=victim.admitted_us,
    )
    unit.leaving.setdefault(event.workload, []).append(unit.preemptions.add(row))
