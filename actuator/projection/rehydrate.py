"""Views rebuilt from Kubernetes objects, for workloads that EVENTS no longer has.

The projection is its own backup: an actuator that starts after EVENTS has lost its beginning takes
from the objects what it, or its predecessor, wrote into them.
"""

from __future__ import annotations

from typing import Any

from actuator.projection import checks, siblings
from actuator.projection.workload_view import Phase, WorkloadView
from tidegate.contracts.decisions import ClusterQueueReadinessChanged
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    CohortDefined,
    LocalQueueDefined,
)
from tidegate.jobs.job_metadata import workload_name
from tidegate.jobs.kind import JobKind
from tidegate.jobs.pods import pod_group
from tidegate.jobs.pods.grouping import GROUP_SUFFIX
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.serving.members import job_name, job_uid, parent_uid
from tidegate.jobs.workload import is_multikueue_copy, is_of_pod_group
from tidegate.jobs.workload_fields import priority_class_of
from tidegate.kinds import names
from tidegate.kinds.kueue_api.queues.conversion import (
    cluster_queue_spec,
    cohort_spec,
    local_queue_spec,
)
from tidegate.kinds.kueue_api.queues.objects import ClusterQueue, Cohort, LocalQueue
from tidegate.kinds.kueue_api.workloads.conversion import checks_since, topology_assignment
from tidegate.kinds.kueue_api.workloads.status import Admission
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import Condition, ObjectMeta, OwnerReference, true_condition
from tidegate.kinds.names import (
    COMPONENT_INDEX,
    DECISION,
    ELASTIC_JOB,
    IS_GROUP_WORKLOAD,
    JOB_UID,
    SLICE_NAME,
    SLICE_REPLACES,
)
from tidegate.kinds.podsets import quantity_text
from tidegate.kinds.times import micros
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quantity import amount
from tidegate.model.texts import parse_whole


def view_of_workload(wl: Workload) -> WorkloadView | None:
    """Return what a Workload shows; None if Tidegate never wrote it.

    Raises:
        QuantityError: an amount in it is none.
    """
    meta, status = wl.metadata, wl.status
    if DECISION not in meta.annotations:
        return None
    job = _job(meta)
    requeue = status.requeue_state
    return WorkloadView(
        key=f"{meta.namespace}/{meta.name}",
        uid=job.uid,
        job=job,
        prebuilt="" if _is_elastic(meta) else _prebuilt(meta, job),
        **siblings.family_fields(wl),
        elastic=_is_elastic(meta),
        replaces=meta.annotations.get(SLICE_REPLACES, "") if _is_elastic(meta) else "",
        first=meta.annotations.get(SLICE_NAME, "") if _is_elastic(meta) else "",
        generation=siblings.generation_of(meta.annotations),
        counts={ps.name: ps.count for ps in wl.spec.pod_sets} if _is_elastic(meta) else {},
        object_uid=meta.uid,
        decision=meta.annotations[DECISION],
        queue=wl.spec.queue_name or "",
        priority_class=priority_class_of(wl, "WorkloadPriorityClass"),
        pod_priority_class=priority_class_of(wl, "PriorityClass"),
        own_priority=wl.spec.priority,
        max_execution_s=wl.spec.maximum_execution_time_seconds or 0,
        active=wl.spec.active,
        phase=_phase(status.conditions, has_variants=names.CONCURRENT_PARENT in meta.labels),
        cluster_queue=status.admission.cluster_queue if status.admission else "",
        assignment=_assignment(status.admission) if status.admission else (),
        failed_nodes=tuple(node.name for node in status.unhealthy_nodes),
        conditions={condition.type: condition for condition in status.conditions},
        requeue_count=(requeue.count or 0) if requeue else 0,
        requeue_after_us=micros(requeue.requeue_at or "") if requeue else 0,
        checks=tuple(sorted(check.name for check in status.admission_checks)),
        checks_since=checks_since(wl),
        **checks.cluster_fields(status),
        reclaimable={pods.name: pods.count for pods in status.reclaimable_pods},
        evictions={
            (eviction.reason, eviction.underlying_cause): eviction.count
            for eviction in (status.scheduling_stats.evictions if status.scheduling_stats else ())
        },
    )


def facts_of_cluster_queue(
    queue: ClusterQueue,
) -> tuple[ClusterQueueDefined, ClusterQueueReadinessChanged]:
    """Return a ClusterQueue's definition and its condition Active.

    Raises:
        UndecodableError: an amount in it is none.
    """
    name = queue.metadata.name
    active = next(
        (condition for condition in queue.status.conditions if condition.type == "Active"), None
    )
    defined = ClusterQueueDefined(at_us=0, name=name, spec=cluster_queue_spec(queue))
    return defined, ClusterQueueReadinessChanged(
        at_us=micros(active.last_transition_time) if active else 0,
        cluster_queue=name,
        active=active is not None and active.status == "True",
        reason=active.reason if active else "Unknown",
        message=active.message if active else "Not reported yet.",
    )


def fact_of_cohort(obj: Cohort) -> CohortDefined:
    """Return a Cohort's definition.

    Raises:
        UndecodableError: an amount in it is none.
    """
    return CohortDefined(at_us=0, name=obj.metadata.name, spec=cohort_spec(obj))


def fact_of_local_queue(queue: LocalQueue) -> LocalQueueDefined:
    """Return a LocalQueue's definition.

    Raises:
        UndecodableError: its weight is no number.
    """
    meta = queue.metadata
    spec = local_queue_spec(queue)
    return LocalQueueDefined(at_us=0, namespace=meta.namespace, name=meta.name, spec=spec)


def _job(meta: ObjectMeta) -> ObjectRef:
    if (job := siblings.job_of(meta)) is not None:
        return job
    owner = meta.controller()
    if _is_of_group(meta) and owner is None:
        uid = meta.labels.get(JOB_UID, meta.uid)
        return ObjectRef(kind=pod_group.NAME, namespace=meta.namespace, name=meta.name, uid=uid)
    for kind in JOB_KINDS.values():
        if owner is not None and (owner.api_version, owner.kind) == (kind.api_version, kind.kind):
            return _owner_job(kind, meta, owner)
    return ObjectRef(kind="workload", namespace=meta.namespace, name=meta.name, uid=meta.uid)


def _is_of_group(meta: ObjectMeta) -> bool:
    """Return whether a group of pods is a Workload's job: it bears a group's uid, if prebuilt."""
    marked = meta.annotations.get(IS_GROUP_WORKLOAD) == "true"
    return marked or meta.labels.get(JOB_UID, "").endswith(GROUP_SUFFIX)


def _owner_job(kind: JobKind[Any], meta: ObjectMeta, owner: OwnerReference) -> ObjectRef:
    """Return the job of a kind that a Workload's controller is, or that it is one of."""
    index = (
        parse_whole(meta.annotations.get(COMPONENT_INDEX, "")) if kind.members is not None else None
    )
    name, uid = job_name(owner.name, index), job_uid(owner.uid, index)
    return ObjectRef(kind=kind.name, namespace=meta.namespace, name=name, uid=uid)


def _is_elastic(meta: ObjectMeta) -> bool:
    return meta.annotations.get(ELASTIC_JOB) == "true" and not is_multikueue_copy(meta)


def _prebuilt(meta: ObjectMeta, job: ObjectRef) -> str:
    """Return the name of a prebuilt Workload; empty if the name derives from the job."""
    kind = JOB_KINDS[job.kind]
    if kind.is_group:
        return "" if is_of_pod_group(meta) else meta.name
    if job.kind == "workload" or siblings.job_of(meta) is not None:
        return ""
    name = workload_name(kind.kind, kind.group, job.name, parent_uid(job))
    return "" if meta.name == name else meta.name


def _phase(conditions: tuple[Condition, ...], *, has_variants: bool) -> Phase:
    if has_variants and true_condition(conditions, "Finished") is None:
        deactivated = true_condition(conditions, "QuotaReserved") is None and _is_inactive(
            conditions
        )
        return "inactive" if deactivated else "parent"
    steps: tuple[tuple[str, Phase], ...] = (
        ("Finished", "finished"),
        ("Admitted", "admitted"),
        ("QuotaReserved", "reserved"),
    )
    for kind, phase in steps:
        if true_condition(conditions, kind) is not None:
            return phase
    return "inactive" if _is_inactive(conditions) else "pending"


def _is_inactive(conditions: tuple[Condition, ...]) -> bool:
    deactivated = ("QuotaReserved", "Deactivated")
    return any((condition.type, condition.reason) == deactivated for condition in conditions)


def _assignment(admission: Admission) -> tuple[PodSetAssignment, ...]:
    return tuple(
        PodSetAssignment(
            name=assignment.name,
            count=assignment.count or 0,
            flavors=dict(assignment.flavors),
            usage={
                name: amount(name, quantity_text(of))
                for name, of in assignment.resource_usage.items()
            },
            topology=None
            if assignment.topology_assignment is None
            else topology_assignment(assignment.topology_assignment),
            delayed_topology=assignment.delayed_topology_request or "",
        )
        for assignment in admission.pod_set_assignments
    )
