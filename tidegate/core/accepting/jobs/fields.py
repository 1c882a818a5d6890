"""What is read from an observed job: the fields of facts about its workload, and its activity.

A user may activate a Workload that a decision deactivated before ingest observes it as inactive:
observations show the present Workload, not each write. So a deactivation writes its decision into
the Workload, too. If that is observed and the Workload is active, a user has activated it since.
"""

from __future__ import annotations

from typing import Any, TypedDict

from msgspec.structs import replace

from tidegate.contracts.facts import WorkloadFinished, WorkloadSubmitted
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.contracts.observed.jobs import INCOMPLETE
from tidegate.core.state.desired_state import decision_seq, stays_gated
from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import cluster_of
from tidegate.model.gates import gate_enabled
from tidegate.model.ids import ObjectRef

_MUTABLE = (
    "priority_class",
    "pod_priority_class",
    "active",
    "max_execution_s",
    "priority_boost",
    "gates",
    "preemption_gates",
    "allowed_flavors",
)
_FINAL_KINDS = ("batch/job", "jobset.x-k8s.io/jobset", "pod")
"""Kinds whose end is final: a condition of a Job or JobSet, the phase of a Pod."""
_GROUP = "pod-group"


class FactFields(TypedDict):
    """The fields that every fact about a workload has: its time, and the workload."""

    at_us: int
    workload: str
    uid: str


def fact_fields(at_us: int, workload: Workload) -> FactFields:
    """Return the common fields of a fact about a workload, to be unpacked into it."""
    return {"at_us": at_us, "workload": workload.key, "uid": workload.uid}


def reference_of(job: JobObserved) -> ObjectRef:
    """Return the reference of a job's object, with its member cluster."""
    return ObjectRef(
        kind=job.kind,
        namespace=job.namespace,
        name=job.name,
        uid=job.uid,
        cluster=cluster_of(job.workload),
    )


def without_uncounted(state: State, job: JobObserved) -> JobObserved:
    """Return a job without its finished pods while the gate ReclaimablePods is closed."""
    if not job.reclaimable or gate_enabled(state.policy, "ReclaimablePods"):
        return job
    return replace(job, reclaimable={})


def mutable_fields(job: JobObserved) -> dict[str, Any]:
    """Return the mutable fields with equal names in JobObserved, Workload and WorkloadChanged."""
    return {name: getattr(job, name) for name in _MUTABLE}


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


def submission_fact(
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


def finished_fact(at_us: int, job: JobObserved, workload: Workload) -> WorkloadFinished:
    """Return the end of a job's workload."""
    return WorkloadFinished(
        **fact_fields(at_us, workload),
        reason=job.finished,
        message=job.message,
        version=job.version,
    )


def was_activated_unseen(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a user activated a job after its deactivation, before that was observed.

    The decision on the Workload is that of this deactivation if it came after the checks were
    reset: each eviction and each release resets them before.
    """
    if workload.phase != "inactive" or not workload.deactivated_cause:
        return False
    written = decision_seq(state, job.deactivated) > workload.checks_seq
    return written and workload.active and job.active


def is_unfinished_again(job: JobObserved, workload: Workload) -> bool:
    """Tell whether a finished job is unfinished again: the cluster was restored from a backup.

    Only a noticed restore resets the version of a known object. A restore that versions do not
    show, because they have grown beyond the known ones again, is noticed by jobs whose end was
    final. (A job with a prebuilt Workload also ends with that, with or without a new version.)
    """
    if workload.phase != "finished" or job.finished:
        return False
    later = job.version > workload.version or not job.prebuilt  # an older version changes nothing
    ended_for_good = job.kind in _FINAL_KINDS or _is_group_restarted(job, workload)
    return not workload.version or (ended_for_good and later)


def _is_group_restarted(job: JobObserved, workload: Workload) -> bool:
    """Return whether a pod group that had ended has pods that run, or a whole group of new pods.

    A group has no final state: once succeeded pods are deleted it looks unfinished, and it may get
    further pods, which wait for ever. But no pod of the same group runs again, and one that had
    started is left; otherwise its pods form another group of that name.
    """
    if job.kind != _GROUP or job.prebuilt or workload.dispatch is not None:
        return False
    waits = not job.state.succeeded and INCOMPLETE not in job.gates
    runs = job.state.started and job.state.active > 0
    return bool(job.queue) and (runs or waits)


def state_key(state: JobState) -> tuple[object, ...]:
    """Return the parts of a job's state that decisions depend on: not the counts of pods."""
    flags = state.suspended, state.partly, state.started, state.active > 0
    marks = state.decision, state.generation, state.sized, state.checkpoint_us
    return *flags, state.deleting, state.orphaning, *marks


def is_ready(workload: Workload, state: JobState) -> bool:
    """Return whether as many pods as assigned are ready or have succeeded.

    For a job whose pods stay gated here, the counts are those of the worker cluster.
    """
    pods = sum(podset.count for podset in workload.podsets)
    pods_assigned = sum(assignment.count for assignment in workload.assignment)
    if pods_assigned:
        pods = min(pods_assigned, pods) if workload.elastic else pods_assigned
    runs = not state.suspended or stays_gated(workload)
    return runs and state.ready + state.succeeded >= pods


def is_template_restored(job: JobObserved, workload: Workload) -> bool:
    """Tell whether a job's pod template is as its owner wrote it.

    The injected-annotation of a job that was never started counts as the owner's own.
    """
    restored = not job.state.injected or workload.phase == "pending"
    return job.state.suspended and not job.state.started and restored


def is_idle(workload: Workload) -> bool:
    """Return whether a workload may be removed: its job neither runs nor may start any moment."""
    # With a start ordered the job may run at any moment: its quota is kept until it was stopped.
    order = workload.order
    waits = workload.phase in ("pending", "parent", "inactive", "finished") and not workload.acting
    return waits or (order is None and workload.phase == "reserved")
