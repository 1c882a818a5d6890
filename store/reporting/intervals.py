"""What workloads wait for, hold and lose, from when to when: waits, holdings and preemptions.

A workload waits again each time it is requeued. Between an eviction and the requeue it is stopping,
which is no wait; a backoff is one.

Holdings are quota by flavor and resource; their sum is the usage. One row a podset, flavor and
resource; when pods are done for good the row ends and a smaller one begins, so that an integral
over the rows is exact; so it is when an elastic job becomes smaller.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

import msgspec
from msgspec.structs import replace

from store.reporting.rows import HoldingRow, PreemptionRow, WaitRow, WorkloadRow, plain
from store.reporting.unit_of_work import EventPosition, UnitOfWork
from tidegate.contracts import decisions, facts
from tidegate.model.ids import UNSATISFIED_CHECKS
from tidegate.model.podset import PodSetAssignment

Ending: TypeAlias = (
    facts.WorkloadAdopted
    | facts.WorkloadFinished
    | facts.WorkloadRemoved
    | decisions.WorkloadAdmitted
    | decisions.WorkloadEvicted
    | decisions.WorkloadDeactivated
)
ProjectedWait: TypeAlias = (
    facts.WorkloadSubmitted
    | facts.WorkloadChanged
    | decisions.WorkloadPending
    | decisions.QuotaReserved
    | decisions.WorkloadRequeued
    | decisions.VariantCreated
    | decisions.VariantDeleted
    | Ending
)
ProjectedHolding: TypeAlias = (
    decisions.QuotaReserved
    | decisions.QuotaReleased
    | facts.WorkloadAdopted
    | facts.PodsReclaimed
    | facts.WorkloadChanged
    | facts.WorkloadFinished
    | facts.WorkloadRemoved
)
ProjectedPreemption: TypeAlias = (
    decisions.WorkloadPreempted
    | decisions.QuotaReleased
    | facts.WorkloadFinished
    | facts.WorkloadRemoved
)


def apply_wait(unit: UnitOfWork, at: EventPosition, event: ProjectedWait) -> None:
    """Begin, change or end a wait; the workload's own row is up to date already."""
    wait = unit.open_waits.get(event.workload)
    match event:
        case facts.WorkloadSubmitted() | facts.WorkloadChanged() | decisions.WorkloadRequeued():
            _begin_wait(unit, at, event.workload, wait)
        case decisions.VariantCreated():
            _end_wait(unit, at, unit.open_waits.get(event.parent), "variants")
        case decisions.VariantDeleted():
            _begin_wait(unit, at, event.parent, unit.open_waits.get(event.parent))
        case decisions.WorkloadPending() | decisions.QuotaReserved():
            _record_attempt(at, wait, event)
        case _:
            _end_wait(unit, at, wait, _outcome(event))


def _outcome(event: Ending) -> str:
    match event:
        case facts.WorkloadAdopted():
            return "adopted"
        case facts.WorkloadFinished():
            return "finished"
        case facts.WorkloadRemoved():
            return "removed"
        case decisions.WorkloadAdmitted():
            return "admitted"
        case decisions.WorkloadEvicted():
            return "evicted"
        case decisions.WorkloadDeactivated():
            return "deactivated"
        case _:
            assert_never(event)


def _begin_wait(unit: UnitOfWork, at: EventPosition, workload: str, wait: WaitRow | None) -> None:
    row = unit.live_workloads.get(workload)
    if row is None:
        return
    if wait is not None and (wait.submitted_seq != row.submitted_seq or row.phase == "inactive"):
        _end_wait(unit, at, wait, "removed" if row.phase != "inactive" else "deactivated")
        wait = None
    if row.phase != "pending":
        return
    if wait is None:
        wait = unit.open_waits[workload] = unit.waits.add(_new_wait(at, row))
    wait.not_before_us = row.not_before_us
    wait.local_queue, wait.author = row.local_queue, row.author
    wait.priority_class, wait.priority = row.priority_class, row.priority


def _new_wait(at: EventPosition, row: WorkloadRow) -> WaitRow:
    return WaitRow(
        partition=at.partition,
        from_seq=at.seq,
        submitted_seq=row.submitted_seq,
        cluster=row.cluster,
        workload=row.workload,
        namespace=row.namespace,
        uid=row.uid,
        local_queue=row.local_queue,
        cluster_queue=row.cluster_queue,
        priority_class=row.priority_class,
        priority=row.priority,
        author=row.author,
        from_us=at.at_us,
    )


def _record_attempt(
    at: EventPosition,
    wait: WaitRow | None,
    event: decisions.WorkloadPending | decisions.QuotaReserved,
) -> None:
    if wait is None:
        return
    wait.cluster_queue = event.cluster_queue or wait.cluster_queue
    if isinstance(event, decisions.QuotaReserved):
        wait.reserved_us = at.at_us
        wait.reason = UNSATISFIED_CHECKS if event.checks else wait.reason
    else:
        wait.reason = event.reason
        wait.times_pending += 1


def _end_wait(unit: UnitOfWork, at: EventPosition, wait: WaitRow | None, outcome: str) -> None:
    if wait is not None:
        wait.to_us, wait.to_seq, wait.outcome = at.at_us, at.seq, outcome
        del unit.open_waits[wait.workload]


def apply_holding(unit: UnitOfWork, at: EventPosition, event: ProjectedHolding) -> None:
    """Begin, shrink or end what a workload holds."""
    match event:
        case decisions.QuotaReserved() | facts.WorkloadAdopted():
            if (row := unit.live_workloads.get(event.workload)) is not None:
                _end_holdings(unit, at, event.workload)
                holdings = [_begin_holdings(unit, at, row, podset) for podset in event.assignment]
                unit.open_holdings[event.workload] = [
                    holding for each in holdings for holding in each
                ]
        case facts.PodsReclaimed():
            _shrink_holdings(unit, at, event.workload)
        case facts.WorkloadChanged():
            if event.elastic:
                _shrink_holdings(unit, at, event.workload)
        case decisions.QuotaReleased() | facts.WorkloadFinished() | facts.WorkloadRemoved():
            _end_holdings(unit, at, event.workload)
        case _:
            assert_never(event)


def _begin_holdings(
    unit: UnitOfWork, at: EventPosition, row: WorkloadRow, assignment: PodSetAssignment
) -> list[HoldingRow]:
    pods = min(assignment.count, _remaining_pods(row, assignment.name, assignment.count))
    return [
        unit.holdings.add(
            HoldingRow(
                partition=at.partition,
                from_seq=at.seq,
                podset=assignment.name,
                flavor=flavor,
                resource=resource,
                reservation_seq=at.seq,
                submitted_seq=row.submitted_seq,
                cluster=row.cluster,
                cluster_queue=row.cluster_queue,
                local_queue=row.local_queue,
                namespace=row.namespace,
                workload=row.workload,
                uid=row.uid,
                author=row.author,
                priority_class=row.priority_class,
                priority=row.priority,
                pods_assigned=assignment.count,
                amount_assigned=amount,
                pods=pods,
                amount=_proportional_amount(amount, assignment.count, pods),
                from_us=at.at_us,
            )
        )
        for resource, flavor in assignment.flavors.items()
        if (amount := assignment.usage.get(resource, 0))
    ]


def _shrink_holdings(unit: UnitOfWork, at: EventPosition, workload: str) -> None:
    row = unit.live_workloads.get(workload)
    if row is None or workload not in unit.open_holdings:
        return
    remaining = list[HoldingRow]()
    for holding in unit.open_holdings[workload]:
        pods = min(
            holding.pods_assigned, _remaining_pods(row, holding.podset, holding.pods_assigned)
        )
        if pods == holding.pods:
            remaining.append(holding)
            continue
        _close_holding(unit, at, holding)
        smaller = replace(
            holding,
            from_seq=at.seq,
            from_us=at.at_us,
            to_us=None,
            to_seq=None,
            pods=pods,
            amount=_proportional_amount(holding.amount_assigned, holding.pods_assigned, pods),
        )
        remaining.append(unit.holdings.add(smaller))
    unit.open_holdings[workload] = remaining


def _remaining_pods(row: WorkloadRow, podset: str, assigned: int) -> int:
    """Return how many of a podset's pods still count.

    Source: behaviour.md 1, "Reserved WL", as in ``tidegate.core.quota.charging``.
    """
    count = msgspec.json.decode(row.pods, type=dict[str, int]).get(podset, assigned)
    reclaimed = msgspec.json.decode(row.reclaimed, type=dict[str, int]).get(podset, 0)
    return max(0, count - reclaimed)


def _proportional_amount(amount: int, assigned: int, pods: int) -> int:
    return amount if pods == assigned else amount // assigned * pods


def _end_holdings(unit: UnitOfWork, at: EventPosition, workload: str) -> None:
    for holding in unit.open_holdings.pop(workload, []):
        _close_holding(unit, at, holding)


def _close_holding(unit: UnitOfWork, at: EventPosition, holding: HoldingRow) -> None:
    holding.to_us, holding.to_seq = at.at_us, at.seq
    unit.usage.end(holding, at.at_us)


def apply_preemption(unit: UnitOfWork, at: EventPosition, event: ProjectedPreemption) -> None:
    """Record a preemption, and when its victim's quota is free."""
    match event:
        case decisions.WorkloadPreempted():
            _record_preemption(unit, at, event)
        case decisions.QuotaReleased() | facts.WorkloadFinished() | facts.WorkloadRemoved():
            for row in unit.open_preemptions.pop(event.workload, []):
                row.released_us, row.released_seq = at.at_us, at.seq
        case _:
            assert_never(event)


def _record_preemption(
    unit: UnitOfWork, at: EventPosition, event: decisions.WorkloadPreempted
) -> None:
    victim = unit.live_workloads.get(event.workload)
    if victim is None:
        return
    preemptor = unit.live_workloads.get(event.by)
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
    unit.open_preemptions.setdefault(event.workload, []).append(unit.preemptions.add(row))
