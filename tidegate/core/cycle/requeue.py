"""Requeues heads that a cycle did not admit: records the reason, and parks or retries them.

Source: behaviour.md 2.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.placements import PlacementTried
from tidegate.contracts.decisions import FlavorTried, WorkloadPending
from tidegate.core.flavors.fitting import IN_USE
from tidegate.core.flavors.placement import placements_tried
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.explain import (
    has_unplaced_podset,
    is_unchanged,
    pending_message,
    tried_flavors,
    tried_without_amounts,
)
from tidegate.core.nomination.nominate import Nominee, Outcome
from tidegate.core.preemption.candidates import GUARANTEE
from tidegate.core.quota.charging import requested_units
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import PendingStatus, State, Workload, decision_fields
from tidegate.model.gates import gate_enabled
from tidegate.model.quantity import format_quantity

_SECOND_US = 1_000_000
_SHAPE_DIGITS = 16
_PARKED_ALONE: tuple[Outcome, ...] = ("gated", "refused", "elsewhere")
_ANEW: tuple[Outcome, ...] = ("preempting", "deferred", "gated")
"""After these the next cycle tries all flavors again."""
_PARKED_TOGETHER: tuple[Outcome, ...] = ("no fit", "no candidates")


def record_pending_reason(context: DecideContext, nominee: Nominee) -> bool:
    """Record why a head waits unless its last reason still holds; tell whether it was recorded."""
    if nominee.outcome != "preempting" and is_unchanged(context.state, nominee):
        return False
    _record_pending(context, nominee, _pending_status(nominee, inadmissible=False))
    return True


def requeue_kueue(context: DecideContext, nominee: Nominee) -> bool:
    """Record why a head waits, and park it until an event; tell whether anything changed."""
    if nominee.outcome == "admitted":
        return True
    workload, best_effort = nominee.workload, nominee.cq.spec.strategy == "BestEffortFIFO"
    scan = _scan_progress(context.state, nominee)
    untried = any(at != -1 for stopped in scan for at in stopped.values())
    parks = nominee.outcome == "elsewhere" or (
        best_effort and not untried and nominee.outcome in (*_PARKED_ALONE, *_PARKED_TOGETHER)
    )
    pending = _pending_status(nominee, inadmissible=parks)
    scanned, *_ = context.scanned.get(workload.key, workload.scan) or ((),)
    is_sticky = context.state.sticky.get(nominee.cq.name) == workload.key
    sticks = nominee.outcome == "deferred" and not is_sticky
    if (
        parks
        or sticks
        or workload.pending_status is None
        or workload.pending_status.reason != pending.reason
    ):
        together = parks and nominee.outcome in _PARKED_TOGETHER
        together = together and gate_enabled(context.state.policy, "SchedulingEquivalenceHashing")
        context.scanned.pop(workload.key, None)
        _record_pending(context, nominee, pending, scan=scan if untried else (), together=together)
        return True
    if untried or scanned:  # also an unchanged scan: its age is that of this cycle
        context.scanned[workload.key] = scan if untried else (), context.cycle, context.state.seq
    return nominee.outcome == "preempting"


def record_scans(context: DecideContext) -> None:
    """Record how far flavor scans got in cycles that changed nothing else; kueue mode only."""
    state = context.state
    for key, (scan, cycle, _) in context.scanned.items():
        workload = state.workloads.get(key)
        if workload is None or workload.pending_status is None or workload.shape is None:
            continue
        again = WorkloadPending(
            **decision_fields(state, workload),
            reason=workload.pending_status.reason,
            message=pending_message(workload.pending_status.reason, None),
            scan=scan,
            cycle=cycle,
        )
        context.record(again)
    context.scanned = {}


def _scan_progress(state: State, nominee: Nominee) -> tuple[dict[str, int], ...]:
    """Return where the next cycle's flavor scan resumes; empty: at the first flavor."""
    if nominee.proposal is None or nominee.outcome in _ANEW:
        return ()
    skipped = nominee.outcome == "skipped"
    if skipped and not gate_enabled(state.policy, "FlavorFungibilityPreserveScanProgress"):
        return ()
    return nominee.proposal.assignment.scan


def _pending_status(nominee: Nominee, *, inadmissible: bool) -> PendingStatus:
    assignment = None if nominee.proposal is None else nominee.proposal.assignment
    return PendingStatus(
        reason=nominee.reason,
        tried=tried_without_amounts(assignment),
        inadmissible=inadmissible,
    )


def _record_pending(
    context: DecideContext,
    nominee: Nominee,
    pending: PendingStatus,
    *,
    scan: tuple[dict[str, int], ...] = (),
    together: bool = False,
) -> None:
    state, workload, cq, shape = (
        context.state,
        nominee.workload,
        nominee.cq,
        nominee.workload.shape,
    )
    flavors_tried, message = _tried_and_message(state, nominee, pending)
    flavors_tried, guaranteed = _add_guarantees(state, cq, workload, flavors_tried)
    context.record(
        WorkloadPending(
            **decision_fields(state, workload),
            reason=pending.reason,
            tried=flavors_tried,
            message=f"{message} {guaranteed}" if guaranteed else message,
            inadmissible=pending.inadmissible,
            shape=shape.key.hex()[:_SHAPE_DIGITS] if together and shape else "",
            scan=scan,
            requests=requested_units(state, workload),
            placements=_placements_tried(state, nominee),
            cycle=context.recorded_cycle,
        )
    )


def _placements_tried(state: State, nominee: Nominee) -> tuple[PlacementTried, ...]:
    if nominee.proposal is None or not has_unplaced_podset(nominee):
        return ()
    return placements_tried(state, nominee.workload, nominee.proposal.assignment)


def _tried_and_message(
    state: State, nominee: Nominee, pending: PendingStatus
) -> tuple[tuple[FlavorTried, ...], str]:
    """Return the flavors tried with their current amounts, and the reason as one sentence."""
    workload, cq = nominee.workload, nominee.cq
    if nominee.proposal is None:
        return (), pending_message(pending.reason, None, nominee.details)
    assignment = nominee.proposal.assignment
    flavors_tried = tried_flavors(state, cq, workload, assignment)
    return flavors_tried, pending_message(pending.reason, assignment, nominee.details)


def _add_guarantees(
    state: State, cq: ClusterQueueState, workload: Workload, attempts: tuple[FlavorTried, ...]
) -> tuple[tuple[FlavorTried, ...], str]:
    """Return attempts with the amounts that other workloads' guarantees hold, and a sentence."""
    rows, messages = list[FlavorTried](), dict[str, None]()
    for row in attempts:
        guaranteed = (
            [] if row.reason != IN_USE else list(_guaranteed_amounts(state, cq, workload, row))
        )
        units = sum(amount for amount, _ in guaranteed)
        rows.append(replace(row, guaranteed=units) if units else row)
        if units:
            left_s = -(-(min(until_us for _, until_us in guaranteed) - state.now_us) // _SECOND_US)
            amount = format_quantity(row.resource, units)
            messages[
                f"Of {row.resource} in flavor {row.flavor}, {amount} runs "
                f"within its guaranteed time, the first for {left_s} s more."
            ] = None
    return tuple(rows), " ".join(messages)


def _guaranteed_amounts(
    state: State, cq: ClusterQueueState, workload: Workload, row: FlavorTried
) -> Iterable[tuple[int, int]]:
    """Yield guaranteed amounts, in the own queue of lower priority, and the end of each."""
    for other in cq.tree.cluster_queues:
        for candidate in other.holding.values() if other.spec.min_runtime_us else ():
            until_us = state.deadlines.at.get(f"{GUARANTEE}/{candidate.key}")
            if until_us is None or (other is cq and candidate.priority >= workload.priority):
                continue
            for fr, units in candidate.charges:
                if (fr.flavor, fr.resource) == (row.flavor, row.resource):
                    yield units, until_us
