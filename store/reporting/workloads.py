"""Each workload's row: its requests, queue, priority, phase and outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

import msgspec

from store.reporting.rows import PriorityClassRow, WorkloadRow, plain
from store.reporting.unit_of_work import EventPosition, UnitOfWork
from tidegate.contracts import decisions, facts
from tidegate.contracts.phases import AnyPhase, phase_after
from tidegate.model.gates import Gate, gate_enabled
from tidegate.model.ids import UNSATISFIED_CHECKS

WORKLOAD_CLASS, POD_CLASS, GATE = "WorkloadPriorityClass", "PriorityClass", "gate"
BOOST: Gate = "PriorityBoost"
"""The feature gate without which a boost is ignored."""
ProjectedClass: TypeAlias = (
    facts.WorkloadPriorityClassDefined
    | facts.WorkloadPriorityClassRemoved
    | facts.PriorityClassDefined
    | facts.PriorityClassRemoved
    | facts.PolicyConfigured
)
WorkloadEvent: TypeAlias = (
    facts.WorkloadChanged
    | facts.WorkloadAdopted
    | facts.WorkloadFinished
    | facts.WorkloadRemoved
    | facts.PodsReclaimed
    | facts.CheckReported
    | decisions.WorkloadPending
    | decisions.PreemptionIntended
    | decisions.QuotaReserved
    | decisions.WorkloadAdmitted
    | decisions.WorkloadPreempted
    | decisions.WorkloadEvicted
    | decisions.QuotaReleased
    | decisions.WorkloadRequeued
    | decisions.WorkloadDeactivated
)
Family: TypeAlias = decisions.VariantCreated | decisions.VariantDeleted
Projected: TypeAlias = facts.WorkloadSubmitted | WorkloadEvent | Family


def apply_priority_class(unit: UnitOfWork, at: EventPosition, event: ProjectedClass) -> None:
    """Record what a class is worth; workloads that name it follow, and keep it if it goes."""
    match event:
        case facts.WorkloadPriorityClassDefined():
            set_priority_class(unit, at, WORKLOAD_CLASS, event.name, event.value)
            _recompute_priorities(unit, lambda row: row.priority_class == event.name)
        case facts.PriorityClassDefined():
            set_priority_class(
                unit, at, POD_CLASS, event.name, event.value
            ).is_default = event.is_default
            named = {event.name, ""}
            _recompute_priorities(
                unit, lambda row: not row.priority_class and row.pod_priority_class in named
            )
        case facts.WorkloadPriorityClassRemoved():
            _remove_priority_class(unit, WORKLOAD_CLASS, event.name)
        case facts.PriorityClassRemoved():
            _remove_priority_class(unit, POD_CLASS, event.name)
        case facts.PolicyConfigured():
            set_priority_class(unit, at, GATE, BOOST, int(gate_enabled(event.policy, BOOST)))
        case _:
            assert_never(event)


def _priority_of(unit: UnitOfWork, row: WorkloadRow) -> int:
    """Return a workload's priority, its boost included.

    Source: behaviour.md 15.2 and 0, as in ``tidegate.core.queueing.quota_ops``; a class that does
    not exist leaves the priority as it was.
    """
    gate = _find_priority_class(unit, GATE, BOOST)
    boost = row.priority_boost if gate is not None and gate.value else 0
    if row.own_priority is not None:
        return row.own_priority + boost
    if row.priority_class or row.pod_priority_class:
        kind = WORKLOAD_CLASS if row.priority_class else POD_CLASS
        named = _find_priority_class(unit, kind, row.priority_class or row.pod_priority_class)
        return row.priority if named is None else named.value + boost
    defaults = [
        each.value for each in unit.priority_values.values() if each.is_default and each.defined
    ]
    return min(defaults, default=0) + boost


def _recompute_priorities(unit: UnitOfWork, concerned: Callable[[WorkloadRow], bool]) -> None:
    for row in unit.live_workloads.values():
        if row.phase != "finished" and concerned(row):
            row.priority = _priority_of(unit, row)


def set_priority_class(
    unit: UnitOfWork, at: EventPosition, kind: str, name: str, value: int
) -> PriorityClassRow:
    """Record the value of a class, or of a setting that is kept beside them."""
    row = unit.priority_values.get((kind, name))
    if row is None:
        new = PriorityClassRow(partition=at.partition, kind=kind, name=name, value=value)
        row = unit.priority_values[kind, name] = unit.classes.add(new)
    row.value, row.defined = value, True
    return row


def _remove_priority_class(unit: UnitOfWork, kind: str, name: str) -> None:
    if (row := unit.priority_values.get((kind, name))) is not None:
        row.defined = False


def _find_priority_class(unit: UnitOfWork, kind: str, name: str) -> PriorityClassRow | None:
    row = unit.priority_values.get((kind, name))
    return row if row is not None and row.defined else None


def apply_workload_event(unit: UnitOfWork, at: EventPosition, event: Projected) -> None:
    """Update the workload's row by this event; a workload that was never submitted has no row."""
    if isinstance(event, facts.WorkloadSubmitted):
        _submit(unit, at, event)
    elif isinstance(event, decisions.VariantCreated | decisions.VariantDeleted):
        _apply_to_parent(unit, at, event)
    elif (row := unit.live_workloads.get(event.workload)) is not None:
        _apply_change(unit, at, row, event)


def _apply_change(
    unit: UnitOfWork, at: EventPosition, row: WorkloadRow, event: WorkloadEvent
) -> None:
    match event:
        case facts.WorkloadChanged():
            _apply_request(unit, at, row, event)
        case facts.CheckReported() | facts.PodsReclaimed():
            _apply_report(row, event)
        case facts.WorkloadFinished():
            row.finished_us, row.outcome = at.at_us, plain(event.reason)
            _enter_phase(row, at, event, event.reason, event.message)
        case facts.WorkloadRemoved():
            _enter_phase(row, at, event)
            row.removed_us, row.removed_seq = at.at_us, at.seq
            del unit.live_workloads[event.workload]
        case decisions.WorkloadPending():
            row.reason, row.message = event.reason, plain(event.message)
            row.cluster_queue = event.cluster_queue or row.cluster_queue
        case decisions.PreemptionIntended():
            row.intent_seq = at.seq
        case facts.WorkloadAdopted() | decisions.QuotaReserved() | decisions.WorkloadAdmitted():
            _admit(at, row, event)
        case _:
            _end_reservation(at, row, event)


def _apply_report(row: WorkloadRow, event: facts.CheckReported | facts.PodsReclaimed) -> None:
    """Update a waiting workload with a check's last state; the last Ready admits it."""
    if isinstance(event, facts.PodsReclaimed):
        row.reclaimed = _json(event.reclaimable)
    elif row.phase == "reserved":
        suffix = f": {event.message}" if event.message else ""
        row.message = plain(f"Admission check {event.check} is {event.state}{suffix}")


def _apply_to_parent(unit: UnitOfWork, at: EventPosition, event: Family) -> None:
    """Let a parent wait no longer itself, or again; the variant's own row is changed beside it."""
    row = unit.live_workloads.get(event.parent)
    if row is None:
        return
    if _phase_after(row, event) != row.phase:
        _enter_phase(row, at, event)


def _admit(
    at: EventPosition,
    row: WorkloadRow,
    event: facts.WorkloadAdopted | decisions.QuotaReserved | decisions.WorkloadAdmitted,
) -> None:
    row.cluster_queue = event.cluster_queue or row.cluster_queue
    match event:
        case facts.WorkloadAdopted():
            row.reservation_seq, row.reserved_us, row.admitted_us = at.seq, at.at_us, at.at_us
            _enter_phase(row, at, event, "Adopted")
        case decisions.QuotaReserved():
            row.reservation_seq, row.reserved_us, row.admitted_us = at.seq, at.at_us, None
            row.not_before_us = row.intent_seq = None
            _enter_phase(row, at, event, *_checks(event))
        case decisions.WorkloadAdmitted():
            row.admitted_us = at.at_us
            _enter_phase(row, at, event)
        case _:
            assert_never(event)


def _checks(event: decisions.QuotaReserved) -> tuple[str, str]:
    """Return the reason and message of a workload that waits for checks; empty: for none."""
    if not event.checks:
        return "", ""
    return UNSATISFIED_CHECKS, f"Its admission checks are not ready: {', '.join(event.checks)}."


def _end_reservation(
    at: EventPosition,
    row: WorkloadRow,
    event: decisions.WorkloadPreempted
    | decisions.WorkloadEvicted
    | decisions.QuotaReleased
    | decisions.WorkloadRequeued
    | decisions.WorkloadDeactivated,
) -> None:
    match event:
        case decisions.WorkloadPreempted():
            row.preemptions += 1
        case decisions.WorkloadEvicted():
            row.evictions += 1
            _enter_phase(row, at, event, event.reason, event.message)
        case decisions.QuotaReleased():
            row.reservation_seq = row.reserved_us = row.admitted_us = None
            _enter_phase(row, at, event, row.reason, row.message)
        case decisions.WorkloadRequeued():
            row.not_before_us = event.after_us or None
            _enter_phase(row, at, event, event.reason)
        case decisions.WorkloadDeactivated():
            _enter_phase(row, at, event, event.reason, event.message)
        case _:
            assert_never(event)


def _submit(unit: UnitOfWork, at: EventPosition, event: facts.WorkloadSubmitted) -> None:
    if (namesake := unit.live_workloads.get(event.workload)) is not None:
        namesake.removed_us, namesake.removed_seq = at.at_us, at.seq
    namespace, _, name = event.workload.rpartition("/")
    row = WorkloadRow(
        partition=at.partition,
        submitted_seq=at.seq,
        cluster=at.cluster,
        workload=event.workload,
        namespace=namespace,
        name=name,
        uid=event.uid,
        job_kind=event.job.kind,
        job_name=event.job.name,
        local_queue=event.queue,
        created_us=event.created_us or at.at_us,
        submitted_us=at.at_us,
        phase_us=at.at_us,
        queue_order_us=event.created_us or at.at_us,
    )
    row.reclaimed = _json(event.reclaimable)
    _apply_request(unit, at, row, event)
    unit.live_workloads[event.workload] = unit.workloads.add(row)


def _apply_request(
    unit: UnitOfWork,
    at: EventPosition,
    row: WorkloadRow,
    event: facts.WorkloadSubmitted | facts.WorkloadChanged,
) -> None:
    row.local_queue, row.priority_class = event.queue, event.priority_class
    row.author = plain(event.author) or row.author
    row.pods = _json({podset.name: podset.count for podset in event.podsets})
    row.own_priority, row.priority_boost = event.priority, event.priority_boost
    row.pod_priority_class = event.pod_priority_class
    row.priority = _priority_of(unit, row)
    if _phase_after(row, event) != row.phase:
        _enter_phase(row, at, event)
    row.inactive_us = None if event.active else row.inactive_us or at.at_us


def _enter_phase(
    row: WorkloadRow, at: EventPosition, event: Projected, reason: str = "", message: str = ""
) -> None:
    """Set the phase that follows from an event, since when, and why."""
    phase = _phase_after(row, event)
    if row.phase != phase:
        row.phase, row.phase_us = phase, at.at_us
    row.reason, row.message = plain(reason), plain(message)


def _phase_after(row: WorkloadRow, event: Projected) -> AnyPhase:
    return phase_after(row.phase, event, row.workload, was_active=row.inactive_us is None)


def _json(counts: dict[str, int]) -> str:
    return msgspec.json.encode(counts).decode()
