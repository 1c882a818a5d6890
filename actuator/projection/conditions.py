"""What each event makes of a workload: its phase, its conditions with Kueue's types and reasons.

Source: behaviour.md 8, 10; api.md 5.
"""

from __future__ import annotations

from actuator.projection import clusters, slices
from actuator.projection.workload_view import WorkloadView
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
    CheckReported,
    FactEvent,
    JobStateReported,
    PodsReadyReported,
    PodsReclaimed,
    WorkloadAdopted,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadSubmitted,
)
from tidegate.core.queueing.variants import ACTIVATED
from tidegate.jobs.pods.pod_group import INCOMPLETE
from tidegate.model.reasons import UNSATISFIED_CHECKS

BY_HAND = "Deactivated"
"""Why a workload is inactive whose owner wishes so: ``spec.active`` says it already."""
BLOCKED = "BlockedOnPreemptionGates"
REPLACING = "WaitingForReplacementPods"
_WAITS_AGAIN = (
    "",
    "Preempted",
    "NodeFailures",
    "BackoffFinished",
    "ClusterQueueRestarted",
    "LocalQueueRestarted",
    ACTIVATED,
)
"""Reasons with which it is queued at once; after others Requeued is False until it may be."""


def show_fact(shown: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    """Take in a fact about this workload; tell whether anything is shown otherwise."""
    at_us = event.at_us
    match event:
        case WorkloadChanged():
            _change(shown, event)
        case WorkloadAdopted():
            shown.cluster_queue, shown.assignment = event.cluster_queue, event.assignment
            _reserve(shown, at_us)
            _admit(shown, at_us)
        case JobStateReported():
            shown.orphaned = event.state.orphaning
            return slices.know(shown, event.state.size_version, event.at_us)
        case PodsReadyReported():
            _ready(shown, event)
        case CheckReported():
            return False  # its controller has written it already
        case PodsReclaimed():
            shown.reclaimable = event.reclaimable
        case WorkloadFinished():
            shown.phase = "finished"
            shown.set(
                "Finished", true=True, reason=event.reason, message=event.message, at_us=at_us
            )
        case _:
            return False
    return True


def show_decision(shown: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    """Take in a decision about this workload; tell whether anything is shown otherwise."""
    at_us = event.at_us
    match event:
        case WorkloadPending():
            _hold(shown, event)
        case QuotaReserved():
            shown.cluster_queue, shown.assignment = event.cluster_queue, event.assignment
            _reserve(shown, at_us)
            _ask(shown, event)
        case WorkloadAdmitted():
            _admit(shown, at_us)
        case TopologyAssigned():
            shown.assignment, shown.failed_nodes = event.assignment, ()
        case NodeFailed():
            shown.failed_nodes = tuple(dict.fromkeys((*shown.failed_nodes, event.node)))
        case _:
            return _show_leaving(shown, event)
    return True


def eviction_reason(event: WorkloadEvicted) -> str:
    """Return the reason as Kueue writes it: a deactivation says its cause in the same word."""
    return f"{event.reason}DueTo{event.cause}" if _has_due_to(event) else event.reason


def introduced(event: WorkloadSubmitted | ReservationRepeated) -> WorkloadView:
    """Return what is shown of a workload that is told of for the first time: no condition yet."""
    shown = WorkloadView(
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
        shown.active, shown.reclaimable = event.active, event.reclaimable
        shown.prebuilt, shown.elastic = event.prebuilt, event.elastic
        shown.replaces = event.replaces if event.elastic else ""
        shown.uid = event.job.uid if event.elastic else event.uid
        shown.counts = slices.counts(event) if event.elastic else {}
        slices.know(shown, event.state.size_version, event.at_us)
    return shown


def _hold(shown: WorkloadView, event: WorkloadPending) -> None:
    at_us, said = event.at_us, event.message
    shown.requests = event.requests or shown.requests
    shown.set("QuotaReserved", true=False, reason=event.reason, message=said, at_us=at_us)
    if event.reason == "AdmissionGated" and not event.others:  # those are gates on admission
        shown.set(BLOCKED, true=True, reason="PreemptionGated", message=said, at_us=at_us)


def show_again(shown: WorkloadView, event: ReservationRepeated) -> None:
    """Take in a reservation that is told again, unless it is shown as it is."""
    given = "admitted" if event.admitted else "reserved", event.cluster_queue, event.assignment
    if (shown.phase, shown.cluster_queue, shown.assignment) == given:
        return
    shown.cluster_queue, shown.assignment = event.cluster_queue, event.assignment
    _reserve(shown, event.at_us)
    if event.admitted:
        _admit(shown, event.at_us)
    else:
        _ask(shown, event)


def _show_leaving(shown: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    at_us = event.at_us
    match event:
        case WorkloadPreempted():
            shown.set(
                "Preempted", true=True, reason=event.reason, message=event.message, at_us=at_us
            )
        case WorkloadEvicted():
            reason = eviction_reason(event)
            shown.set("Evicted", true=True, reason=reason, message=event.message, at_us=at_us)
            counted = (event.reason, event.cause)
            shown.evictions[counted] = shown.evictions.get(counted, 0) + 1
            shown.requeue_after_us = max(shown.requeue_after_us, event.after_us)
            shown.requeue_count = event.attempts or shown.requeue_count
        case QuotaReleased(reason=slices.REPLACED):
            slices.end(shown, at_us)
        case QuotaReleased():
            _release(shown, event)
        case WorkloadRequeued():
            _requeue(shown, event)
        case WorkloadDeactivated():
            shown.phase, shown.deactivated = "inactive", event.reason != BY_HAND
            shown.requeue_count = shown.requeue_after_us = shown.executed_us = 0
            _stay_away(shown, at_us)
            shown.set(
                "QuotaReserved",
                true=False,
                reason="Deactivated",
                message=event.message or "It is deactivated.",
                at_us=at_us,
            )
        case _:
            return clusters.follow(shown, event)
    return True


def _stay_away(shown: WorkloadView, at_us: int) -> None:
    """Say of who was evicted for it that nobody queues it again."""
    evicted = shown.holding("Evicted")
    if evicted is not None:
        reason, said = evicted.reason, evicted.message
        shown.set("Requeued", true=False, reason=reason, message=said, at_us=at_us)


def _change(shown: WorkloadView, event: WorkloadChanged) -> None:
    shown.deactivated = shown.deactivated and event.active  # else it was written: theirs again
    if event.active and not shown.active and shown.phase == "inactive" and not shown.parent:
        shown.phase = "parent" if shown.family else "pending"
        _reactivate(shown, event.at_us)
    shown.counts = slices.counts(event) if shown.elastic else {}
    shown.queue, shown.active = event.queue, event.active
    shown.priority_class, shown.own_priority = event.priority_class, event.priority
    shown.pod_priority_class = event.pod_priority_class
    shown.max_execution_s = event.max_execution_s
    _replace(shown, event)


def _replace(shown: WorkloadView, event: WorkloadChanged) -> None:
    """Say of a group of pods whether others are to come in the places of those that ended."""
    if INCOMPLETE in event.gates:
        evicted = shown.holding("Evicted")
        reason = "PodsFailed" if evicted is None else evicted.reason
        said = "Some pods of the group ended: others are to be made in their places"
        shown.set(REPLACING, true=True, reason=reason, message=said, at_us=event.at_us)
    elif shown.holding(REPLACING):
        shown.end(REPLACING, reason="PodsReady", at_us=event.at_us)


def _reactivate(shown: WorkloadView, at_us: int) -> None:
    shown.requeue_count = shown.requeue_after_us = 0
    message = "The workload was reactivated"
    shown.set("Requeued", true=True, reason="Reactivated", message=message, at_us=at_us)


def _reserve(shown: WorkloadView, at_us: int) -> None:
    shown.phase, shown.requests = "reserved", {}
    message = f"Quota reserved in ClusterQueue {shown.cluster_queue}"
    shown.set("QuotaReserved", true=True, reason="QuotaReserved", message=message, at_us=at_us)
    for past in ("Evicted", "Preempted", BLOCKED):
        shown.end(past, reason="QuotaReserved", at_us=at_us)


def _ask(shown: WorkloadView, event: QuotaReserved | ReservationRepeated) -> None:
    if event.checks:
        said = f"The workload has not passed its admission checks: {', '.join(event.checks)}"
        shown.set(
            "Admitted", true=False, reason=UNSATISFIED_CHECKS, message=said, at_us=event.at_us
        )


def _admit(shown: WorkloadView, at_us: int) -> None:
    shown.phase, shown.admitted_us = "admitted", at_us
    message = "The workload is admitted"
    shown.set("Admitted", true=True, reason="Admitted", message=message, at_us=at_us)
    _wait_for_start(shown, at_us)


def _release(shown: WorkloadView, event: QuotaReleased) -> None:
    at_us = event.at_us
    shown.phase, shown.cluster_queue = "pending", ""
    shown.assignment = shown.failed_nodes = ()
    if shown.admitted_us:
        shown.executed_us += at_us - shown.admitted_us
        shown.admitted_us = 0
    evicted = shown.conditions.get("Evicted")
    message = evicted.message if evicted and evicted.message else "Its quota was released"
    shown.set("QuotaReserved", true=False, reason="PendingEvaluation", message=message, at_us=at_us)
    if "Admitted" in shown.conditions:
        said = "The workload has no reservation"
        shown.set("Admitted", true=False, reason="NoReservation", message=said, at_us=at_us)
    if "PodsReady" in shown.conditions:
        _wait_for_start(shown, at_us)


def _requeue(shown: WorkloadView, event: WorkloadRequeued) -> None:
    shown.requeue_count, shown.requeue_after_us = event.attempts, event.after_us
    waits = event.after_us > 0 or event.reason not in _WAITS_AGAIN
    if event.reason:
        message = "It waits until it may be queued again" if waits else "It is queued again"
        shown.set(
            "Requeued", true=not waits, reason=event.reason, message=message, at_us=event.at_us
        )


def _ready(shown: WorkloadView, event: PodsReadyReported) -> None:
    if shown.direct:
        return  # theirs
    held = shown.conditions.get("PodsReady")
    recovers = held is not None and held.reason in ("WaitForRecovery", "Recovered")
    if event.ready:
        reason = "Recovered" if recovers else "Started"
        message = "All pods reached readiness and the workload is running"
        shown.set("PodsReady", true=True, reason=reason, message=message, at_us=event.at_us)
    elif held is not None and held.status == "True" and shown.holding("Admitted"):
        message = "At least one pod has failed, waiting for recovery"
        _not_ready(shown, "WaitForRecovery", message, event.at_us)


def _wait_for_start(shown: WorkloadView, at_us: int) -> None:
    if not shown.direct:  # else it is theirs
        _not_ready(shown, "WaitForStart", "Not all pods are ready or succeeded", at_us)


def _not_ready(shown: WorkloadView, reason: str, message: str, at_us: int) -> None:
    shown.set("PodsReady", true=False, reason=reason, message=message, at_us=at_us)


def _has_due_to(event: WorkloadEvicted) -> bool:
    return event.reason == "Deactivated" and event.cause != ""
