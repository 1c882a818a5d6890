"""A Workload created directly, for a third-party controller or for none.

Its status is its start: its controller waits for the condition Admitted; a second condition names
the decision, in the same write. A controller that owns it clears QuotaReserved without pods.

Suspended by: its condition ``tidegate.dev/StartRequested``
Podsets: ``spec.podSets`` of one that was made directly
Put in: nothing: its conditions and admission say that it may run
Restored: the condition
Partial: as its podsets say
Topology: its controller places its pods

Source: behaviour.md 16, external frameworks.
"""

from __future__ import annotations

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import UndecodableError
from tidegate.jobs import workload_fields as fields
from tidegate.jobs.gates import gate_names
from tidegate.jobs.job_metadata import MESSAGE_MAX, author, is_elastic, valid_decision
from tidegate.jobs.kind import (
    Done,
    JobKind,
    Object,
    Patch,
    Refused,
    Start,
    Step,
    Stop,
    decision_seq,
)
from tidegate.jobs.templates.paths import list_at
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.conversion import check_states, checks_since
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta, true_condition
from tidegate.kinds.podsets import workload_podsets
from tidegate.kinds.times import micros, rfc3339
from tidegate.model.texts import bounded

NAME = "workload"
OWNER_NOT_FOUND = "OwnerNotFound"
"""The message of a Workload that is finished because its job was deleted."""


def observe(workload: Workload) -> JobObserved:
    """See ``JobKind.observe``: only what is the owner's to say, for the rest is our own."""
    meta, spec = workload.metadata, workload.spec
    finished = true_condition(workload.status.conditions, "Finished")
    return JobObserved(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        version=meta.version,
        session="",
        kind=NAME,
        workload=f"{meta.namespace}/{meta.name}",
        queue=spec.queue_name or "",
        priority_class=fields.priority_class_of(workload, "WorkloadPriorityClass"),
        pod_priority_class=fields.priority_class_of(workload, "PriorityClass"),
        priority=spec.priority,
        created_us=micros(meta.creation_timestamp or ""),
        podsets=workload_podsets(workload),
        active=fields.is_active(workload),
        max_execution_s=spec.maximum_execution_time_seconds or 0,
        reclaimable={pod.name: pod.count for pod in workload.status.reclaimable_pods},
        finished=finished.reason if finished else "",
        message=bounded(finished.message, MESSAGE_MAX) if finished else "",
        author=author(meta),
        priority_boost=fields.priority_boost(workload),
        gates=gate_names(meta.annotations),
        preemption_gates=fields.closed_gates(workload),
        held_quota=fields.has_quota_elsewhere(workload),
        held_places=fields.topology_elsewhere(workload),
        allowed_flavors=fields.allowed_flavors(workload),
        variant_of=fields.variant_of(meta),
        elastic=is_multikueue_copy(meta) and is_elastic(meta.annotations),
        replaces=fields.replaced_slice(meta) if is_multikueue_copy(meta) else "",
        checks=check_states(workload),
        checks_since=checks_since(workload),
        nominated=workload.status.nominated_cluster_names,
        deactivated=valid_decision(meta.annotations.get(names.DEACTIVATED, "")),
        state=_state(workload),
    )


def start(start: Start, obj: Object) -> Step:
    """See ``JobKind.start``: a condition on the Workload permits it to run."""
    workload = read(obj, Workload)
    current = decision_seq(fields.decision_of(workload), start.ledger_id)
    if current >= start.seq or _is_finished(workload):
        return Done()
    if not fields.may_run(workload) and start.is_stale(obj):
        return Refused(reason="stale", message="The Workload changed after this was decided.")
    return _patch(obj, order_condition(start.decision, rfc3339(start.order.at_us), runs=True))


def stop(stop: Stop, obj: Object, waited_s: float) -> Step:
    """See ``JobKind.stop``: its owner reads the condition Evicted and deletes its pods."""
    del waited_s  # it is one step
    workload = read(obj, Workload)
    current = decision_seq(fields.decision_of(workload), stop.ledger_id)
    if current >= stop.seq or _is_finished(workload):
        return Done()
    return _patch(obj, order_condition(stop.decision, rfc3339(stop.order.at_us), runs=False))


def order_condition(decision: str, at: str, *, runs: bool) -> Object:
    """Return the condition that permits a Workload to run or forbids it, with the decision.

    ``decision`` is "<ledger id>/<seq>", seq 0 where nothing was ordered; ``at`` is RFC 3339.
    """
    return {
        "type": names.ORDERED,
        "status": "True" if runs else "False",
        "reason": "Started" if runs else "NotStarted",
        "message": decision,
        "lastTransitionTime": at,
    }


def podsets(obj: Object) -> list[Object]:
    """See ``JobKind.podsets``: they stand in it already."""
    written: list[Object] = obj["spec"]["podSets"]
    return written


def is_orphan(meta: ObjectMeta) -> bool:
    """Return whether the object that a Workload was made of, or is owned by, was deleted.

    Source: behaviour.md 8.7.
    """
    marks = [names.DECISION, names.VARIANT_FOR, names.OWNED_BY]
    if not is_multikueue_copy(meta):  # a group's was never any pod's before its pods came
        marks.append(names.IS_GROUP_WORKLOAD)
    generated = names.JOB_UID in meta.labels or any(mark in meta.annotations for mark in marks)
    return generated and not meta.owner_references


def is_multikueue_copy(meta: ObjectMeta) -> bool:
    """Return whether a manager of MultiKueue sent a Workload: multikueue.md 2.2."""
    return names.MANAGER in meta.labels


def is_of_pod_group(meta: ObjectMeta) -> bool:
    """Return whether a Workload was made of a group of pods, which has its name."""
    return meta.annotations.get(names.IS_GROUP_WORKLOAD) == "true" and not is_multikueue_copy(meta)


def _state(workload: Workload) -> JobState:
    pods = sum(podset.count for podset in workload.spec.pod_sets)
    owned, conditions = workload.metadata.controller() is not None, workload.status.conditions
    return JobState(
        suspended=not fields.may_run(workload),
        active=int(owned and true_condition(conditions, "QuotaReserved") is not None),
        ready=pods if true_condition(conditions, "PodsReady") else 0,
        deleting=workload.metadata.is_deleting,
        decision=fields.decision_of(workload),
        generation=workload.metadata.generation,
    )


def status_of(meta: ObjectMeta, obj: Object) -> JobState:
    """See ``JobKind.status_of``: a malformed Workload counts as not started."""
    try:
        return _state(read(obj, Workload))
    except UndecodableError:
        return JobState(deleting=meta.is_deleting, generation=meta.generation)


def _is_finished(workload: Workload) -> bool:
    return true_condition(workload.status.conditions, "Finished") is not None


def _patch(obj: Object, order: Object) -> Patch:
    before = list_at(obj, ("status", "conditions"))
    conditions = [
        *(condition for condition in before if condition.get("type") != names.ORDERED),
        order,
    ]
    return Patch(body={"status": {"conditions": conditions}}, subresource="status")


KIND = JobKind(
    name=NAME,
    group=names.GROUP,
    version=names.VERSIONS[0],
    kind="Workload",
    plural="workloads",
    object_type=Workload,
    observe=observe,
    start=start,
    stop=stop,
    status_of=status_of,
    optional=False,
    podsets=podsets,
)
