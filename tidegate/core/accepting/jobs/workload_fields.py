"""The fields of facts about a workload that are read from its job: requests, settings, end."""

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
    """Return the reference of a job's object, with its member cluster."""
    return ObjectRef(
        kind=job.kind,
        namespace=job.namespace,
        name=job.name,
        uid=job.uid,
        cluster=cluster_of(job.workload),
    )


def mutable_fields(job: JobObserved) -> dict[str, Any]:
    """Return the mutable fields with equal names in JobObserved, Workload and WorkloadChanged."""
    return {name: getattr(job, name) for name in _ASKED}


def event_fields(at_us: int, job: JobObserved, replaces: str) -> dict[str, Any]:
    """Return the fields that a submission and a change of a job's workload have in common.

    ``replaces`` is the workload that it replaces: an elastic job does not name that itself.
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
    """Return the submission of a job's workload."""
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
    """Return the end of a job's workload."""
    return WorkloadFinished(
        at_us=at_us,
        workload=workload.key,
        uid=workload.uid,
        reason=job.finished,
        message=job.message,
        version=job.version,
    )
