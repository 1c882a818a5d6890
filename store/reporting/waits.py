"""Waits: from the time a workload is queued to its admission, or the end of its wait.

A workload waits again each time it is requeued. Between an eviction and the requeue it is stopping,
which is no wait; a backoff is one.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from store.reporting.rows import WaitRow, WorkloadRow
from store.reporting.unit_of_work import Place, UnitOfWork
from tidegate.contracts import decisions, facts
from tidegate.model.ids import UNSATISFIED_CHECKS

Ending: TypeAlias = (
    facts.WorkloadAdopted
    | facts.WorkloadFinished
    | facts.WorkloadRemoved
    | decisions.WorkloadAdmitted
    | decisions.WorkloadEvicted
    | decisions.WorkloadDeactivated
)
Projected: TypeAlias = (
    facts.WorkloadSubmitted
    | facts.WorkloadChanged
    | decisions.WorkloadPending
    | decisions.QuotaReserved
    | decisions.WorkloadRequeued
    | decisions.VariantCreated
    | decisions.VariantDeleted
    | Ending
)


def take(unit: UnitOfWork, at: Place, event: Projected) -> None:
    """Begin, change or end a wait; the workload's own row is up to date already."""
    wait = unit.waiting.get(event.workload)
    match event:
        case facts.WorkloadSubmitted() | facts.WorkloadChanged() | decisions.WorkloadRequeued():
            _queue(unit, at, event.workload, wait)
        case decisions.VariantCreated():
            _end(unit, at, unit.waiting.get(event.parent), "variants")
        case decisions.VariantDeleted():
            _queue(unit, at, event.parent, unit.waiting.get(event.parent))
        case decisions.WorkloadPending() | decisions.QuotaReserved():
            _note(at, wait, event)
        case _:
            _end(unit, at, wait, _outcome(event))


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


def _queue(unit: UnitOfWork, at: Place, workload: str, wait: WaitRow | None) -> None:
    row = unit.live.get(workload)
    if row is None:
        return
    if wait is not None and (wait.submitted_seq != row.submitted_seq or row.phase == "inactive"):
        _end(unit, at, wait, "removed" if row.phase != "inactive" else "deactivated")
        wait = None
    if row.phase != "pending":
        return
    if wait is None:
        wait = unit.waiting[workload] = unit.waits.add(_begun(at, row))
    wait.not_before_us = row.not_before_us
    wait.local_queue, wait.author = row.local_queue, row.author
    wait.priority_class, wait.priority = row.priority_class, row.priority


def _begun(at: Place, row: WorkloadRow) -> WaitRow:
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


def _note(
    at: Place, wait: WaitRow | None, event: decisions.WorkloadPending | decisions.QuotaReserved
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


def _end(unit: UnitOfWork, at: Place, wait: WaitRow | None, outcome: str) -> None:
    if wait is not None:
        wait.to_us, wait.to_seq, wait.outcome = at.at_us, at.seq, outcome
        del unit.waiting[wait.workload]
