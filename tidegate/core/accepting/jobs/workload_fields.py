"""What a job asks for, and how it ended, as the facts about its workload have it: written once."""

from __future__ import annotations

from typing import Any

from tidegate.contracts.facts import WorkloadFinished, WorkloadSubmitted
from tidegate.contracts.observations import JobObserved
from tidegate.core.state.state import Workload
from tidegate.model.clusters import cluster_of
from tidegate.model.ids import ObjectRef

_ASKED = (
    "priority_class",
    "pod_priority_class",
    "active",
    "max_execution_s",
    "priority_boost",
    "gates",
    "preemption_gates",
    "allowed_flavors",
)


def reference_of(job: JobObserved) -> ObjectRef:
    """Return a job's object, with the member cluster that it lies in."""
    return ObjectRef(
        kind=job.kind,
        namespace=job.namespace,
        name=job.name,
        uid=job.uid,
        cluster=cluster_of(job.workload),
    )


def mutable_fields(job: JobObserved) -> dict[str, Any]:
    """Return what JobObserved, Workload and WorkloadChanged call alike and may change any time."""
    return {name: getattr(job, name) for name in _ASKED}


def event_fields(at_us: int, job: JobObserved, replaces: str) -> dict[str, Any]:
    """Return what a submission and a change of a job's workload say alike.

    ``replaces`` is the workload that it takes over: of an elastic one its job does not say.
    """
    return {
        "at_us": at_us,
        "version": job.version,
        "priority": job.priority,
        "author": job.author,
        "replaces": replaces,
        **mutable_fields(job),
    }


def submitted(
    at_us: int, resource: str, job: JobObserved, reference: ObjectRef, *, elastic: bool
) -> WorkloadSubmitted:
    """Return that a job is queued."""
    return WorkloadSubmitted(
        workload=job.workload,
        uid=job.uid,
        job=reference,
        queue=job.queue,
        created_us=job.created_us,
        podsets=job.podsets,
        reclaimable=job.reclaimable,
        state=job.state,
        variant_of=job.variant_of,
        prebuilt=job.prebuilt,
        elastic=elastic,
        resource=resource,
        body=job.body,
        held_quota=job.held_quota,
        held_places=job.held_places,
        **event_fields(at_us, job, job.replaces),
    )


def ended(at_us: int, job: JobObserved, workload: Workload) -> WorkloadFinished:
    """Return that a job is over."""
    return WorkloadFinished(
        at_us=at_us,
        workload=workload.key,
        uid=workload.uid,
        reason=job.finished,
        message=job.message,
        version=job.version,
    )
