"""Kubernetes Events on a job, its Workload or its queue.

Types, reasons and most messages are Kueue's. The name of each comes from the ledger's seq, so that
an entry read twice makes one Event.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

import msgspec
from msgspec.structs import replace

from actuator.projection.workload_view import WorkloadView
from tidegate.contracts.decision_kinds.clusters import CheckDecided
from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.decision_kinds.placements import SecondPassFailed
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReserved,
    StopOrdered,
    VariantCreated,
    VariantDeleted,
    VariantUngated,
    WorkloadAdmitted,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadPending,
    WorkloadPreempted,
    WorkloadRequeued,
)
from tidegate.contracts.facts import ActuationFailed, FactEvent, WorkloadFinished, WorkloadSubmitted
from tidegate.core.admission.second_pass import NODE_FAILURES
from tidegate.core.queueing import siblings
from tidegate.core.queueing.admissibility import GATED, NO_PRIORITY_CLASS
from tidegate.core.reconcile.inadmissible import GATE_CLEARED
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.serving.members import parent_name, parent_uid
from tidegate.kinds.names import API_VERSION
from tidegate.kinds.times import rfc3339

EventType = Literal["Normal", "Warning"]
MESSAGE_MAX = 1_024
_NAME_MAX = 200
_SECOND_US = 1_000_000
_WARNED = {
    "AdmissionCheck": "AdmissionCheckRejected",
    "MaximumExecutionTimeExceeded": "MaximumExecutionTimeExceeded",
    "FailedToStart": "FailedToStart",
}
"""What is warned of before an eviction, by its cause."""


class EventText(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence about a Workload or about its job."""

    about_job: bool
    kind: EventType
    reason: str
    message: str
    workload: str = ""  # of the Event; empty: the event's own workload


def event_texts(event: FactEvent | DecisionEvent) -> tuple[EventText, ...]:
    """Return the texts of Kubernetes Events for a ledger event; most have none."""
    match event:
        case QuotaReserved():
            message = f"Quota reserved in ClusterQueue {event.cluster_queue}"
            return (_workload_text("QuotaReserved", message),)
        case WorkloadAdmitted():
            return _admitted_texts(event)
        case WorkloadPending():
            return _pending_texts(event)
        case WorkloadPreempted():
            return _preempted_texts(event)
        case WorkloadEvicted():
            return _evicted_texts(event)
        case CheckDecided() if event.cause:
            kind: EventType = "Warning" if event.cause == "OutOfSync" else "Normal"
            return (_workload_text("MultiKueue", event.message, kind=kind),)
        case SecondPassFailed():
            return (_workload_text("SecondPassFailed", event.message, kind="Warning"),)
        case _:
            return _job_texts(event) or _variant_texts(event)


def refused_status_text(event: WorkloadEvicted, status: int) -> tuple[str, str, str] | None:
    """Return the Event text of an eviction with a status that the API server refused.

    A type, a reason and a message, or None. ``status`` is that of its answer. A Workload that is
    gone (404) has nothing to show, and one that changed meanwhile (409) is written at once.

    Source: behaviour-notes.md, suite tas 11.
    """
    passing = status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
    if passing or event.reason != NODE_FAILURES:
        return None
    message = (
        f"{event.message} The API server refused the status ({status}); it will be written again."
    )
    return "Warning", "SecondPassFailed", message


def event_object(text: EventText, view: WorkloadView, seq: int, at_us: int) -> Object:
    """Return the core/v1 Event."""
    regarding = _job_reference(view) if text.about_job else workload_reference(view)
    end = f"{seq:x}.{'j' if text.about_job else 'w'}"
    return event_about(regarding, end, at_us, (text.kind, text.reason, text.message))


def event_about(regarding: Object, end: str, at_us: int, text: tuple[str, str, str]) -> Object:
    """Return the core/v1 Event about an object, of a type, a reason and a message.

    ``end`` is how its name ends, so that an entry read twice makes one Event.
    """
    kind, reason, message = text
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "namespace": regarding["namespace"],
            "name": f"{regarding['name'][:_NAME_MAX]}.{end}",
        },
        "involvedObject": regarding,
        "type": kind,
        "reason": reason,
        "message": message[:MESSAGE_MAX],
        "source": {"component": "tidegate"},
        "reportingComponent": "tidegate.dev/actuator",
        "firstTimestamp": rfc3339(at_us),
        "lastTimestamp": rfc3339(at_us),
        "count": 1,
    }


def _admitted_texts(event: WorkloadAdmitted) -> tuple[EventText, ...]:
    waited_s = event.waited_us // _SECOND_US
    queue = event.cluster_queue
    message = f"Admitted by ClusterQueue {queue}, wait time since queued was {waited_s}s"
    return _workload_text("Admitted", message), _job_text(
        "Started", f"Admitted by clusterQueue {queue}"
    )


def _pending_texts(event: WorkloadPending) -> tuple[EventText, ...]:
    """Kueue records Events of heads that a cycle tried, not of workloads that it skipped.

    One whose priority class is missing has no Workload there, so the job gets the Event.
    """
    if NO_PRIORITY_CLASS in event.others:
        warning = _job_text("WorkloadPriorityClassNotFound", event.message)
        return (replace(warning, kind="Warning"),)
    if GATED in event.others:
        return (_workload_text("AdmissionGated", event.message),)
    if GATE_CLEARED in event.others:
        message = "Admission gate cleared, workload is now admissible"
        return (_workload_text("AdmissionGateCleared", message),)
    if event.others:
        return ()
    return (_workload_text(event.reason, event.message or event.reason, kind="Warning"),)


def _preempted_texts(event: WorkloadPreempted) -> tuple[EventText, ...]:
    message = f"Preempted workload {event.workload} (uid {event.uid}), {event.reason}"
    other = EventText(
        about_job=False,
        kind="Normal",
        reason="PreemptedWorkload",
        message=message,
        workload=event.by,
    )
    return _workload_text("Preempted", event.message or f"Preempted by {event.by}"), other


def _evicted_texts(event: WorkloadEvicted) -> tuple[EventText, ...]:
    reason = f"EvictedDueTo{event.reason}" + (f"DueTo{event.cause}" if event.cause else "")
    message = event.message or "The workload must stop"
    usual = _workload_text(reason, message), _job_text("Stopped", message)
    warned = _WARNED.get(event.cause)
    return usual if warned is None else (_workload_text(warned, message, kind="Warning"), *usual)


def _job_texts(event: FactEvent | DecisionEvent) -> tuple[EventText, ...]:
    """Return the Events of a job beside admission and eviction."""
    match event:
        case WorkloadSubmitted() if event.job.kind != "workload" and not event.prebuilt:
            message = f"Created Workload: {event.workload}"
            return () if event.variant_of else (_job_text("CreatedWorkload", message),)
        case CopyOrdered():
            return (
                _job_text("CopyOrdered", f"Its copy is to run in cluster {event.copy.cluster}"),
            )
        case CopyRemovalOrdered(attempt=1):
            message = f"Its copy in cluster {event.copy.cluster} is removed: {event.reason}"
            return (_job_text("CopyRemovalOrdered", message),)
        case StopOrdered(reason="NotAdmitted"):
            return (_job_text("Stopped", "Not admitted by cluster queue"),)
        case ActuationFailed():
            message = f"{event.reason}: {event.message}" if event.message else event.reason
            return (replace(_job_text("ActuationFailed", message), kind="Warning"),)
        case WorkloadFinished() if not event.variant_of:
            message = f"Workload '{event.workload}' is declared finished"
            return (_job_text("FinishedWorkload", message),)
        case _:
            return ()


def _variant_texts(event: FactEvent | DecisionEvent) -> tuple[EventText, ...]:
    """Return the Events of variants on the parent and on the variant."""
    match event:
        case VariantCreated():
            message = f"Created variant {event.workload} for flavor {event.flavor}"
            return (replace(_workload_text("CreatedVariant", message), workload=event.parent),)
        case VariantDeleted():
            message = f"Deleted variant {event.workload}: flavor {event.flavor} is no longer tried"
            return (replace(_workload_text("DeletedVariant", message), workload=event.parent),)
        case VariantUngated():
            return (
                _workload_text(
                    "PreemptionUngatedVariant", "This variant may now preempt other workloads"
                ),
            )
        case WorkloadDeactivated(reason=siblings.DEACTIVATED):
            return (_workload_text(event.reason, event.message),)
        case WorkloadRequeued(reason=siblings.ACTIVATED):
            message = (
                "This variant is queued again: no variant is admitted, or none on a "
                "preferred flavor"
            )
            return (_workload_text(event.reason, message),)
        case _:
            return ()


def _workload_text(reason: str, message: str, kind: EventType = "Normal") -> EventText:
    return EventText(about_job=False, kind=kind, reason=reason, message=message)


def _job_text(reason: str, message: str) -> EventText:
    return EventText(about_job=True, kind="Normal", reason=reason, message=message)


def _job_reference(view: WorkloadView) -> Object:
    kind = JOB_KINDS[view.job.kind]
    if kind.is_group:
        return workload_reference(view)  # a group has no object of its own
    own = (view.job.name, view.uid) if kind.members is None else None
    name, uid = own or (parent_name(view.job), parent_uid(view.job))
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "namespace": view.namespace,
        "name": name,
        "uid": uid,
    }


def workload_reference(view: WorkloadView) -> Object:
    """Return the reference by which an Event names a Workload."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "namespace": view.namespace,
        "name": view.name,
        "uid": view.object_uid,
    }
