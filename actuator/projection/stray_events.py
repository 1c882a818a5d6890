"""Kubernetes Events on jobs without a workload: those refused, and those that must not run."""

from __future__ import annotations

from actuator.projection.k8s_events import event_about
from tidegate.contracts.fact_kinds.reception import ObservationRefused
from tidegate.contracts.fact_kinds.strays import StrayReported
from tidegate.contracts.subjects import name_of
from tidegate.core.folding.strays import MESSAGES
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import JOB_KINDS

_TOKENS = 6
NOT_ADMITTED = "NotAdmitted"
"""Of an object that runs without a workload."""
SUSPENDED = "Suspended"
"""Of a job that is stopped because the job that owns it waits; the reason is Kueue's."""


def refusal_event(event: ObservationRefused | StrayReported, seq: int) -> Object | None:
    """Return the Event about a job that was refused or must not run; None: no Event."""
    if isinstance(event, StrayReported):
        return _stopped_event(event, seq)
    tokens = event.subject.split(".")
    if len(tokens) != _TOKENS or not event.uid:
        return None
    resource, namespace, name = map(name_of, tokens[3:])
    kind = next(
        (job_kind for job_kind in JOB_KINDS.values() if job_kind.resource == resource), None
    )
    if kind is None or not namespace or not name:
        return None
    regarding = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "namespace": namespace,
        "name": name,
        "uid": event.uid,
    }
    return event_about(regarding, f"{seq:x}.r", event.at_us, ("Warning", event.reason, event.error))


def _stopped_event(event: StrayReported, seq: int) -> Object | None:
    kind = JOB_KINDS.get(event.job.kind)
    if kind is None or event.state.suspended:
        return None
    regarding = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "namespace": event.job.namespace,
        "name": event.job.name,
        "uid": event.uid,
    }
    message = f"The job must not run: {MESSAGES[event.reason]}"
    reason = NOT_ADMITTED if event.reason == "Unreadable" else SUSPENDED
    return event_about(regarding, f"{seq:x}.s", event.at_us, ("Warning", reason, message))
