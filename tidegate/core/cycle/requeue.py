"""Requeues heads that a cycle did not admit: records the reason, and parks or retries them.

Source: behaviour.md 2.4.
"""

from __future__ import annotations

from tidegate.contracts.decision_kinds.placements import PlacementTried
from tidegate.contracts.decisions import FlavorTried, WorkloadPending
from tidegate.core.flavors.placing import explained
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.explain import is_unchanged, kinds, sentence, tried, unplaced
from tidegate.core.nomination.nominate import Nominee, Outcome
from tidegate.core.preemption.guarantee import trace
from tidegate.core.quota.charging import requested_units
from tidegate.core.state.state import PendingStatus, State, about
from tidegate.model.gates import gate

_SHAPE_DIGITS = 16
_PARKED_ALONE: tuple[Outcome, ...] = ("gated", "refused", "elsewhere")
_PARKED_TOGETHER: tuple[Outcome, ...] = ("no fit", "no candidates")


def explain(context: DecideContext, nominee: Nominee) -> bool:
    """Record why a head waits unless its last reason still holds; tell whether it was recorded."""
    if nominee.outcome != "preempting" and is_unchanged(context.state, nominee):
        return False
    _record(context, nominee, _pending_status(nominee, parked=False))
    return True


def requeue_kueue(context: DecideContext, nominee: Nominee) -> bool:
    """Record why a head waits, and park it until an event; tell whether anything changed."""
    if nominee.outcome == "admitted":
        return True
    workload, best_effort = nominee.workload, nominee.cq.spec.strategy == "BestEffortFIFO"
    scan = _progress(nominee)
    untried = any(at != -1 for stopped in scan for at in stopped.values())
    parks = nominee.outcome == "elsewhere" or (
        best_effort and not untried and nominee.outcome in (*_PARKED_ALONE, *_PARKED_TOGETHER)
    )
    pending = _pending_status(nominee, parked=parks)
    scanned, *_ = context.scanned.get(workload.key, workload.scan) or ((),)
    sticks = nominee.outcome == "deferred" and not _is_sticky(context, nominee)
    if (
        parks
        or sticks
        or workload.pending_status is None
        or workload.pending_status.reason != pending.reason
    ):
        together = parks and nominee.outcome in _PARKED_TOGETHER and _by_shape(context)
        context.scanned.pop(workload.key, None)
        _record(context, nominee, pending, scan=scan if untried else (), together=together)
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
            **about(state, workload),
            reason=workload.pending_status.reason,
            message=sentence(workload.pending_status.reason, None),
            scan=scan,
            cycle=cycle,
        )
        context.record(again)
    context.scanned = {}


def _is_sticky(context: DecideContext, nominee: Nominee) -> bool:
    return context.state.sticky.get(nominee.cq.name) == nominee.workload.key


def _progress(nominee: Nominee) -> tuple[dict[str, int], ...]:
    if nominee.proposal is None or nominee.outcome in ("preempting", "deferred"):
        return ()
    return nominee.proposal.assignment.scan


def _by_shape(context: DecideContext) -> bool:
    return gate(context.state.policy, "SchedulingEquivalenceHashing")


def _pending_status(nominee: Nominee, *, parked: bool) -> PendingStatus:
    assignment = None if nominee.proposal is None else nominee.proposal.assignment
    return PendingStatus(
        reason=nominee.reason,
        tried=kinds(assignment),
        inadmissible=parked,
    )


def _record(
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
    flavors_tried, message = _words(state, nominee, pending)
    flavors_tried, guaranteed = trace(state, cq, workload, flavors_tried)
    context.record(
        WorkloadPending(
            **about(state, workload),
            reason=pending.reason,
            tried=flavors_tried,
            message=f"{message} {guaranteed}" if guaranteed else message,
            parked=pending.inadmissible,
            shape=shape.key.hex()[:_SHAPE_DIGITS] if together and shape else "",
            scan=scan,
            requests=requested_units(state, workload),
            placements=_placements(state, nominee),
            cycle=context.number,
        )
    )


def _placements(state: State, nominee: Nominee) -> tuple[PlacementTried, ...]:
    if nominee.proposal is None or not unplaced(nominee):
        return ()
    return explained(state, nominee.workload, nominee.proposal.assignment)


def _words(
    state: State, nominee: Nominee, pending: PendingStatus
) -> tuple[tuple[FlavorTried, ...], str]:
    """Return the flavors tried with their current amounts, and the reason as one sentence."""
    workload, cq = nominee.workload, nominee.cq
    if nominee.proposal is None:
        return (), sentence(pending.reason, None, nominee.details)
    assignment = nominee.proposal.assignment
    flavors_tried = tried(state, cq, workload, assignment)
    return flavors_tried, sentence(pending.reason, assignment, nominee.details)
