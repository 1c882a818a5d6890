"""The JSON of a Workload object's spec and status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actuator.projection import checks, siblings
from actuator.projection.conditions import BLOCKED, REPLACING
from actuator.projection.workload_view import WorkloadView
from tidegate.contracts.phases import SLICE_REPLACED
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.serving.members import owner_annotations, parent_name, parent_uid
from tidegate.jobs.workload import OWNER_NOT_FOUND, order_condition
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.conversion import written_assignment
from tidegate.kinds.meta import Condition
from tidegate.kinds.times import rfc3339
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quantity import format_quantity

_SECOND_US = 1_000_000
NODES_MAX = 8
"""Of a status's ``unhealthyNodes``."""
_OURS = ("QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued", BLOCKED)
_OURS_OF_JOBS = (*_OURS, "PodsReady", "Finished", REPLACING)
_WPC, _PC = (names.GROUP, "WorkloadPriorityClass"), ("scheduling.k8s.io", "PriorityClass")


def workload_object(
    view: WorkloadView,
    job: Object,
    kind: JobKind[Any],
    priorities: Mapping[tuple[str, str], int],
    label_keys: Sequence[str] = (),
) -> Object:
    """Return the Workload object of a job as it is made; its status is written after it.

    It has the labels of these keys as its job has them.
    """
    marks = {names.DECISION: view.decision, **_parameters(job), **siblings.slice_annotations(view)}
    podsets = siblings.podsets_with_counts(kind.podsets(job), view)
    if kind.members is not None:
        marks |= {names.IS_GROUP_WORKLOAD: "true", **_component(view, kind)}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Workload",
        "metadata": {
            "namespace": view.namespace,
            "name": view.name,
            "labels": {
                **_labels(job, kind, label_keys),
                names.JOB_UID: view.uid,
                **siblings.family_labels(view),
            },
            "annotations": marks,
            "ownerReferences": owner_references(job, kind),
        },
        "spec": {**wanted_spec(view, priorities), "podSets": podsets},
    }


def _labels(job: Object, kind: JobKind[Any], keys: Sequence[str]) -> dict[str, str]:
    """Return labels of a job; of one that is several objects, those that all of them agree on."""
    objects = job["items"] if kind.is_group else [job]
    first, *others = (obj["metadata"].get("labels", {}) for obj in objects)
    alike = (key for key in keys if all(labels.get(key) == first.get(key) for labels in others))
    return {key: first[key] for key in alike if key in first}


def _parameters(job: Object) -> dict[str, str]:
    """Return the annotations that a ProvisioningRequest of the job's takes as parameters."""
    objects = [*job.get("items", ())[:1], *([job] if "metadata" in job else [])]
    maps = [obj["metadata"].get("annotations", {}) for obj in objects]
    prefix = names.REQUEST_PARAMETER
    return {key: value for marks in maps for key, value in marks.items() if key.startswith(prefix)}


def _component(view: WorkloadView, kind: JobKind[Any]) -> dict[str, str]:
    """Return whose job a Workload belongs to, and which of its several; of a group of pods none."""
    if kind.members is None or kind.members.parent is None:
        return {}
    index = kind.members.parent.index(view.job)
    return owner_annotations(view.job, index, f"{kind.api_version}, Kind={kind.kind}")


def owner_references(job: Object, kind: JobKind[Any]) -> list[Object]:
    """Return the owner references of a job's Workload: the job, or each object of a group."""
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    if kind.is_group:
        metas = [pod["metadata"] for pod in job["items"]]
        return [{**head, "name": meta["name"], "uid": meta["uid"]} for meta in metas]
    meta = job["metadata"]
    rights = {"controller": True, "blockOwnerDeletion": True}
    return [{**head, "name": meta["name"], "uid": meta["uid"], **rights}]


def may_be_owned(view: WorkloadView, obj: Object) -> bool:
    """Return whether a prebuilt Workload is its job's to own: no other controller has it."""
    return all(
        owner["uid"] == parent_uid(view.job)
        for owner in obj["metadata"].get("ownerReferences", ())
        if owner.get("controller", False)
    )


def may_be_shown(view: WorkloadView, obj: Object) -> bool:
    """Return whether a Workload object is ours to write: not if it is prebuilt and another's.

    One that was remembered may be gone meanwhile, with another job's in its place.
    """
    return not view.prebuilt or may_be_owned(view, obj)


def may_be_deleted(view: WorkloadView, obj: Object) -> bool:
    """Return whether a Workload object belongs to a job, so that it may be deleted."""
    meta = obj["metadata"]
    if view.prebuilt:
        return view.object_uid in ("", meta["uid"]) and may_be_owned(view, obj)
    owners = [owner["uid"] for owner in meta.get("ownerReferences", ())]
    return view.uid in owners or meta.get("labels", {}).get(names.JOB_UID) == view.uid


def owner_mark(meta: Object) -> dict[str, str]:
    """Return the mark of a direct Workload that another controller owns: for when that is gone."""
    owners = [
        reference["uid"]
        for reference in meta.get("ownerReferences", ())
        if reference.get("controller")
    ]
    return {names.OWNED_BY: owners[0]} if owners else {}


def ownership_patch(view: WorkloadView, meta: Object) -> Object:
    """Return the metadata of a prebuilt Workload with its new owner; pods are with their start."""
    labels = {names.JOB_UID: view.uid, **meta.get("labels", {})}
    uid, name = parent_uid(view.job), parent_name(view.job)
    owners = [ref for ref in meta.get("ownerReferences", ()) if ref["uid"] != uid]
    kind = JOB_KINDS[view.job.kind]
    if kind.is_group:
        return {"labels": labels}
    job: Object = {"metadata": {"name": name, "uid": uid}}
    return {"labels": labels, "ownerReferences": [*owners, *owner_references(job, kind)]}


def wanted_spec(view: WorkloadView, priorities: Mapping[tuple[str, str], int]) -> Object:
    """Return the fields of a job-made Workload's spec that follow from the job, but its podsets.

    ``active`` is the user's; it is ours only where a deactivation was decided.
    """
    spec: Object = {"queueName": view.queue, **_priority(view, priorities)}
    if view.max_execution_s:
        spec["maximumExecutionTimeSeconds"] = view.max_execution_s
    if view.deactivated:
        spec["active"] = False
    return spec


def without_unknown_priority(desired: Object, current: Object) -> Object:
    """Return wanted fields of a spec without a priority that its class does not have.

    A Workload's class is never taken out, so neither is the priority that stands beside it.
    """
    if "priorityClassRef" in desired or "priorityClassRef" not in current:
        return desired
    return {field: value for field, value in desired.items() if field != "priority"}


def workload_status(view: WorkloadView, current: Object) -> Object:
    """Return a Workload's desired status; ``current`` is the present one.

    What is not ours stays: check states, and of a direct Workload how its pods stand and its end.
    """
    own = _own_condition_types(view)
    conditions = {
        condition["type"]: condition
        for condition in current.get("conditions", ())
        if condition["type"] not in own
    }
    conditions |= {
        kind: _condition(condition) for kind, condition in view.conditions.items() if kind in own
    }
    status = {**current, "conditions": list(conditions.values())}
    _set_field(status, "admission", _admission(view))
    _set_field(status, "unhealthyNodes", [{"name": node} for node in view.failed_nodes[:NODES_MAX]])
    _set_field(status, "resourceRequests", _requests(view))
    checks.set_cluster_fields(status, view)
    _set_field(status, "requeueState", _requeue_state(view))
    _set_field(status, "schedulingStats", _stats(view))
    if view.parent:
        gates = siblings.gate_states(view, current.get("preemptionGates", []))
        _set_field(status, "preemptionGates", gates)
    _set_field(status, "accumulatedPastExecutionTimeSeconds", view.executed_us // _SECOND_US)
    if not view.direct:
        done = [{"name": name, "count": count} for name, count in view.reclaimable.items()]
        _set_field(status, "reclaimablePods", done)
    return status


def _own_condition_types(view: WorkloadView) -> tuple[str, ...]:
    if not view.direct:
        return _OURS_OF_JOBS
    finished = view.conditions.get("Finished")
    ended = finished is not None and finished.reason in {OWNER_NOT_FOUND, SLICE_REPLACED}
    return (*_OURS, "Finished") if ended else _OURS


def is_finished(view: WorkloadView, obj: Object) -> bool:
    """Return whether a Workload created directly is finished, by its own condition."""
    conditions = obj.get("status", {}).get("conditions", ())
    return view.direct and any(
        condition["type"] == "Finished" and condition["status"] == "True"
        for condition in conditions
    )


def set_start_requested(status: Object, view: WorkloadView) -> None:
    """Say of a direct Workload that shows a reservation that it is ours, before it is started.

    ``status`` is changed in place.
    """
    reserved = view.true_condition("QuotaReserved") if view.direct else None
    if reserved is None:
        return
    if all(condition["type"] != names.ORDERED for condition in status["conditions"]):
        none = f"{view.decision.rpartition('/')[0]}/0"
        since = reserved.last_transition_time
        status["conditions"].append(order_condition(none, since, runs=False))


def _priority(view: WorkloadView, priorities: Mapping[tuple[str, str], int]) -> Object:
    for name, (group, kind) in ((view.priority_class, _WPC), (view.pod_priority_class, _PC)):
        value = priorities.get((kind, name))
        if name and value is not None:
            reference = {"group": group, "kind": kind, "name": name}
            return {"priorityClassRef": reference, "priority": value}
        if name:
            return {}  # its value is unknown: keep the present one
    return {"priority": 0 if view.own_priority is None else view.own_priority}


def _admission(view: WorkloadView) -> Object | None:
    if not view.cluster_queue:
        return None  # a finished workload keeps its admission
    assigned = [_assigned(podset) for podset in view.assignment]
    return {"clusterQueue": view.cluster_queue, "podSetAssignments": assigned}


def _assigned(assignment: PodSetAssignment) -> Object:
    usage = {name: format_quantity(name, units) for name, units in assignment.usage.items()}
    assigned: Object = {
        "name": assignment.name,
        "count": assignment.count,
        "flavors": assignment.flavors,
        "resourceUsage": usage,
    }
    if assignment.topology is not None:
        assigned["topologyAssignment"] = written_assignment(assignment.topology)
    if assignment.delayed_topology:
        assigned["delayedTopologyRequest"] = assignment.delayed_topology
    return assigned


def _requests(view: WorkloadView) -> list[Object]:
    """Return what the scheduler computed for a workload that waits; nothing once it has quota."""
    return [
        {"name": name, "resources": {k: format_quantity(k, units) for k, units in amounts.items()}}
        for name, amounts in view.requests.items()
    ]


def _requeue_state(view: WorkloadView) -> Object | None:
    state: Object = {"count": view.requeue_count} if view.requeue_count else {}
    if view.requeue_after_us:
        state["requeueAt"] = rfc3339(view.requeue_after_us)
    return state or None


def _stats(view: WorkloadView) -> Object | None:
    evictions = [
        {"reason": reason, "underlyingCause": cause, "count": count}
        for (reason, cause), count in view.evictions.items()
    ]
    return {"evictions": evictions} if evictions else None


def _condition(condition: Condition) -> Object:
    # A Struct leaves an empty message out, and the API server insists on it.
    plain: Object = {"message": "", **msgspec.to_builtins(condition)}
    return plain


def _set_field(status: Object, field: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
    if value:
        status[field] = value
    else:
        status.pop(field, None)
