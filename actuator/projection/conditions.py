"""A workload's phase and conditions after each event, with Kueue's types and reasons.

Source: behaviour.md 8, 10; api.md 5.
"""

from __future__ import annotations

from actuator.projection import checks, siblings
from actuator.projection.workload_view import NO_REQUESTS, WorkloadView
from tidegate.contracts import phases
from tidegate.contracts.decision_kinds.placements import NodeFailed, TopologyAssigned
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    ReservationRepeated,
    WorkloadAdmitted,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadPending,
    WorkloadPreempted,
    WorkloadRequeued,
)
from tidegate.contracts.facts import (
    FactEvent,
    JobStateReported,
    PodsReadyReported,
    PodsReclaimed,
    WorkloadAdopted,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadSubmitted,
)
from tidegate.contracts.observed.jobs import INCOMPLETE
from tidegate.core.queueing.siblings import ACTIVATED
from tidegate.model.ids import UNSATISFIED_CHECKS

BY_HAND = "Deactivated"
"""The reason of a workload whose owner set ``spec.active`` to false."""
BLOCKED = "BlockedOnPreemptionGates"
REPLACING = "WaitingForReplacementPods"
_WAITS_AGAIN = (
    "",
    "Preempted",
    "NodeFailures",
    "LedgerRecovered",
    "BackoffFinished",
    "ClusterQueueRestarted",
    "LocalQueueRestarted",
    ACTIVATED,
)
"""Reasons with which it is queued at once; after others Requeued is False until it may be."""


def apply_fact(view: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    """Apply a fact about this workload; return whether the view changed."""
    at_us = event.at_us
    match event:
        case WorkloadChanged():
            _apply_change(view, event)
        case WorkloadAdopted():
            view.cluster_queue, view.assignment = event.cluster_queue, event.assignment
            view.renews = False  # its pods run as they were admitted, until its quota is released
            _set_reserved(view, at_us)
            _set_admitted(view, at_us)
        case JobStateReported():
            view.orphaned = event.state.orphaning
            return siblings.note_generation(view, event.state.size_version, event.at_us)
        case PodsReadyReported():
            _set_ready(view, event)
        case PodsReclaimed():
            view.reclaimable = event.reclaimable
        case WorkloadFinished():
            view.phase = "finished"
            view.set("Finished", true=True, reason=event.reason, message=event.message, at_us=at_us)
        case _:  # CheckReported, too: its controller has written it already
            return False
    return True


def apply_decision(view: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    """Apply a decision about this workload; return whether the view changed."""
    at_us = event.at_us
    match event:
        case WorkloadPending():
            _set_pending(view, event)
        case QuotaReserved():
            view.cluster_queue, view.assignment = event.cluster_queue, event.assignment
            _set_reserved(view, at_us)
            _reset_checks(view, event)
        case WorkloadAdmitted():
            _set_admitted(view, at_us)
        case TopologyAssigned():
            view.assignment, view.failed_nodes = event.assignment, ()
        case NodeFailed():
            view.failed_nodes = tuple(dict.fromkeys((*view.failed_nodes, event.node)))
        case _:
            return _apply_eviction(view, event)
    return True


def eviction_reason(event: WorkloadEvicted) -> str:
    """Return the reason as Kueue writes it: a deactivation includes its cause."""
    return f"{event.reason}DueTo{event.cause}" if _is_deactivation(event) else event.reason


def new_view(event: WorkloadSubmitted | ReservationRepeated) -> WorkloadView:
    """Return the view of a new workload: without conditions."""
    view = WorkloadView(
        key=event.workload,
        uid=event.uid,
        job=event.job,
        queue=event.queue,
        priority_class=event.priority_class,
        pod_priority_class=event.pod_priority_class,
        own_priority=event.priority,
        max_execution_s=event.max_execution_s,
    )
    if isinstance(event, WorkloadSubmitted):
        view.active, view.reclaimable = event.active, event.reclaimable
        view.prebuilt = event.prebuilt
        view.elastic = event.elastic and view.made  # else its manager writes what it asks for
        view.replaces = event.replaces if view.elastic else ""
        view.uid = event.job.uid if view.elastic else event.uid
        view.counts = siblings.requested_pods(event) if view.elastic else {}
        siblings.note_generation(view, event.state.size_version, event.at_us)
    view.intern_fields()
    return view


def _set_pending(view: WorkloadView, event: WorkloadPending) -> None:
    at_us, message = event.at_us, event.message
    view.requests = event.requests or view.requests
    view.set("QuotaReserved", true=False, reason=event.reason, message=message, at_us=at_us)
    if event.reason == "AdmissionGated" and not event.others:  # those are gates on admission
        view.set(BLOCKED, true=True, reason="PreemptionGated", message=message, at_us=at_us)


def repeat_reservation(view: WorkloadView, event: ReservationRepeated) -> None:
    """Apply a repeated reservation, unless the view has it."""
    before = "admitted" if event.admitted else "reserved", event.cluster_queue, event.assignment
    if (view.phase, view.cluster_queue, view.assignment) == before:
        return
    view.cluster_queue, view.assignment = event.cluster_queue, event.assignment
    _set_reserved(view, event.at_us)
    if event.admitted:
        _set_admitted(view, event.at_us)
    else:
        _reset_checks(view, event)


def _apply_eviction(view: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    at_us = event.at_us
    match event:
        case WorkloadPreempted():
            view.set(
                "Preempted", true=True, reason=event.reason, message=event.message, at_us=at_us
            )
        case WorkloadEvicted():
            reason = eviction_reason(event)
            view.set("Evicted", true=True, reason=reason, message=event.message, at_us=at_us)
            counted = (event.reason, event.cause)
            view.evictions[counted] = view.evictions.get(counted, 0) + 1
            view.requeue_after_us = max(view.requeue_after_us, event.after_us)
            view.requeue_count = event.attempts or view.requeue_count
        case QuotaReleased(reason=phases.SLICE_REPLACED):
            siblings.end_slice(view, at_us)
        case QuotaReleased():
            _set_released(view, event)
        case WorkloadRequeued():
            _set_requeued(view, event)
        case WorkloadDeactivated():
            view.phase, view.deactivated = "inactive", event.reason != BY_HAND
            view.requeue_count = view.requeue_after_us = view.executed_us = 0
            _set_not_requeued(view, at_us)
            view.set(
                "QuotaReserved",
                true=False,
                reason="Deactivated",
                message=event.message or "The workload is deactivated.",
                at_us=at_us,
            )
        case _:
            return checks.follow_clusters(view, event)
    return True


def _set_not_requeued(view: WorkloadView, at_us: int) -> None:
    """Set Requeued to False on an evicted workload that stays inactive."""
    evicted = view.true_condition("Evicted")
    if evicted is not None:
        reason, message = evicted.reason, evicted.message
        view.set("Requeued", true=False, reason=reason, message=message, at_us=at_us)


def _apply_change(view: WorkloadView, event: WorkloadChanged) -> None:
    view.deactivated = view.deactivated and event.active  # else it was written: theirs again
    if event.active and not view.active and view.phase == "inactive" and not view.parent:
        view.phase = "parent" if view.has_variants else "pending"
        _set_reactivated(view, event.at_us)
    view.counts = siblings.requested_pods(event) if view.elastic else {}
    siblings.note_requested_podsets(view, event)
    view.queue, view.active = event.queue, event.active
    view.priority_class, view.own_priority = event.priority_class, event.priority
    view.pod_priority_class, view.max_execution_s = event.pod_priority_class, event.max_execution_s
    _set_waiting_for_pods(view, event)


def _set_waiting_for_pods(view: WorkloadView, event: WorkloadChanged) -> None:
    """Say of a group of pods whether others are to come in the places of those that ended."""
    if INCOMPLETE in event.gates:
        evicted = view.true_condition("Evicted")
        reason = "PodsFailed" if evicted is None else evicted.reason
        message = "Some pods of the group ended: create pods to replace them"
        view.set(REPLACING, true=True, reason=reason, message=message, at_us=event.at_us)
    elif view.true_condition(REPLACING):
        view.end(REPLACING, reason="PodsReady", at_us=event.at_us)


def _set_reactivated(view: WorkloadView, at_us: int) -> None:
    view.requeue_count = view.requeue_after_us = 0
    message = "The workload was reactivated"
    view.set("Requeued", true=True, reason="Reactivated", message=message, at_us=at_us)


def _set_reserved(view: WorkloadView, at_us: int) -> None:
    view.phase, view.requests = "reserved", NO_REQUESTS
    message = f"Quota reserved in ClusterQueue {view.cluster_queue}"
    view.set("QuotaReserved", true=True, reason="QuotaReserved", message=message, at_us=at_us)
    for past in ("Evicted", "Preempted", BLOCKED):
        view.end(past, reason="QuotaReserved", at_us=at_us)


def _reset_checks(view: WorkloadView, event: QuotaReserved | ReservationRepeated) -> None:
    if event.checks:
        message = f"The workload has not passed its admission checks: {', '.join(event.checks)}"
        view.set(
            "Admitted", true=False, reason=UNSATISFIED_CHECKS, message=message, at_us=event.at_us
        )


def _set_admitted(view: WorkloadView, at_us: int) -> None:
    view.phase, view.admitted_us = "admitted", at_us
    message = "The workload is admitted"
    view.set("Admitted", true=True, reason="Admitted", message=message, at_us=at_us)
    _set_wait_for_start(view, at_us)


def _set_released(view: WorkloadView, event: QuotaReleased) -> None:
    at_us = event.at_us
    view.phase, view.cluster_queue, view.renews = "pending", "", view.stale
    view.assignment = view.failed_nodes = ()
    if view.admitted_us:
        view.executed_us += at_us - view.admitted_us
        view.admitted_us = 0
    evicted = view.conditions.get("Evicted")
    message = evicted.message if evicted and evicted.message else "Its quota was released"
    view.set("QuotaReserved", true=False, reason="PendingEvaluation", message=message, at_us=at_us)
    if "Admitted" in view.conditions:
        text = "The workload has no reservation"
        view.set("Admitted", true=False, reason="NoReservation", message=text, at_us=at_us)
    if "PodsReady" in view.conditions:
        _set_wait_for_start(view, at_us)


def _set_requeued(view: WorkloadView, event: WorkloadRequeued) -> None:
    view.requeue_count, view.requeue_after_us = event.attempts, event.after_us
    reason, waits = event.reason, event.after_us > 0 or event.reason not in _WAITS_AGAIN
    if reason:
        message = "The workload waits for its back-off" if waits else "The workload is queued again"
        view.set("Requeued", true=not waits, reason=reason, message=message, at_us=event.at_us)


def _set_ready(view: WorkloadView, event: PodsReadyReported) -> None:
    if view.direct:
        return  # theirs
    ready = view.conditions.get("PodsReady")
    recovers = ready is not None and ready.reason in ("WaitForRecovery", "Recovered")
    if event.ready:
        reason = "Recovered" if recovers else "Started"
        message = "All pods reached readiness and the workload is running"
        view.set("PodsReady", true=True, reason=reason, message=message, at_us=event.at_us)
    elif ready is not None and ready.status == "True" and view.true_condition("Admitted"):
        message = "At least one pod has failed, waiting for recovery"
        _set_not_ready(view, "WaitForRecovery", message, event.at_us)


def _set_wait_for_start(view: WorkloadView, at_us: int) -> None:
    if not view.direct:  # else it is theirs
        _set_not_ready(view, "WaitForStart", "Not all pods are ready or succeeded", at_us)


def _set_not_ready(view: WorkloadView, reason: str, message: str, at_us: int) -> None:
    view.set("PodsReady", true=False, reason=reason, message=message, at_us=at_us)


def _is_deactivation(event: WorkloadEvicted) -> bool:
    return event.reason == "Deactivated" and event.cause != ""
