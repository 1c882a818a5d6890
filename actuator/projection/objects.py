"""The JSON of what is shown of a workload: its Workload's spec and status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actuator.projection import clusters, slices, variants
from actuator.projection.conditions import BLOCKED, REPLACING
from actuator.projection.workload_view import WorkloadView
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.workload import OWNER_NOT_FOUND, ordered
from tidegate.kinds import names
from tidegate.kinds.kueue_api.queues.conversion import written_assignment
from tidegate.kinds.meta import Condition
from tidegate.kinds.times import stamp
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quantity import render

_SECOND_US = 1_000_000
NODES_MAX = 8
"""Of a status's ``unhealthyNodes``."""
_OURS = ("QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued", BLOCKED)
_OURS_OF_JOBS = (*_OURS, "PodsReady", "Finished", "DeactivationTarget", REPLACING)
_WPC, _PC = (names.GROUP, "WorkloadPriorityClass"), ("scheduling.k8s.io", "PriorityClass")


def workload(
    shown: WorkloadView,
    job: Object,
    kind: JobKind[Any],
    priorities: Mapping[tuple[str, str], int],
    label_keys: Sequence[str] = (),
) -> Object:
    """Return the Workload object of a job as it is made; its status is written after it.

    It has the labels of these keys as its job has them.
    """
    marks = {names.DECISION: shown.decision, **_parameters(job), **slices.marks(shown)}
    podsets = slices.counted(kind.podsets(job), shown)
    if kind.members is not None:
        marks |= {names.IS_GROUP_WORKLOAD: "true", **_component(shown, kind)}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Workload",
        "metadata": {
            "namespace": shown.namespace,
            "name": shown.name,
            "labels": {
                **_labels(job, kind, label_keys),
                names.JOB_UID: shown.uid,
                **variants.labels(shown),
            },
            "annotations": marks,
            "ownerReferences": owner_references(job, kind),
        },
        "spec": {**wanted_spec(shown, priorities), "podSets": podsets},
    }


def _labels(job: Object, kind: JobKind[Any], keys: Sequence[str]) -> dict[str, str]:
    """Return labels of a job; of one that is several objects, those that all of them agree on."""
    objects = job["items"] if kind.is_group else [job]
    first, *others = (one["metadata"].get("labels", {}) for one in objects)
    alike = (key for key in keys if all(one.get(key) == first.get(key) for one in others))
    return {key: first[key] for key in alike if key in first}


def _parameters(job: Object) -> dict[str, str]:
    """Return the annotations that a ProvisioningRequest of the job's takes as parameters."""
    objects = [*job.get("items", ())[:1], *([job] if "metadata" in job else [])]
    told = [one["metadata"].get("annotations", {}) for one in objects]
    prefix = names.REQUEST_PARAMETER
    return {key: value for one in told for key, value in one.items() if key.startswith(prefix)}


def _component(shown: WorkloadView, kind: JobKind[Any]) -> dict[str, str]:
    """Return which of several jobs of an object a Workload stands for."""
    parent = None if kind.members is None else kind.members.parent
    index = None if parent is None else parent.index(shown.job)
    return {} if index is None else {names.COMPONENT_INDEX: str(index)}


def owner_references(job: Object, kind: JobKind[Any]) -> list[Object]:
    """Return who owns a job's Workload: the job, or each of the objects that it is."""
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    if kind.is_group:
        found = [one["metadata"] for one in job["items"]]
        return [{**head, "name": one["name"], "uid": one["uid"]} for one in found]
    meta = job["metadata"]
    rights = {"controller": True, "blockOwnerDeletion": True}
    return [{**head, "name": meta["name"], "uid": meta["uid"], **rights}]


def may_be_owned(shown: WorkloadView, obj: Object) -> bool:
    """Tell whether a prebuilt Workload is its job's to own: no other controller has it."""
    return all(
        owner["uid"] == shown.uid
        for owner in obj["metadata"].get("ownerReferences", ())
        if owner.get("controller", False)
    )


def may_be_shown(shown: WorkloadView, obj: Object) -> bool:
    """Tell whether a Workload object is ours to write: not if it is prebuilt and another's.

    One that was remembered may be gone meanwhile, with another job's in its place.
    """
    return not shown.prebuilt or may_be_owned(shown, obj)


def goes_with(shown: WorkloadView, obj: Object) -> bool:
    """Tell whether a Workload object is the one that stands for a job, and may be deleted."""
    meta = obj["metadata"]
    if shown.prebuilt:
        return shown.object_uid in ("", meta["uid"]) and may_be_owned(shown, obj)
    owners = [owner["uid"] for owner in meta.get("ownerReferences", ())]
    return shown.uid in owners or meta.get("labels", {}).get(names.JOB_UID) == shown.uid


def owned_by(meta: Object) -> dict[str, str]:
    """Return the mark of a direct Workload that another controller owns: for when that is gone."""
    owners = [one["uid"] for one in meta.get("ownerReferences", ()) if one.get("controller")]
    return {names.OWNED_BY: owners[0]} if owners else {}


def ownership(shown: WorkloadView, meta: Object) -> Object:
    """Return what the metadata of a prebuilt Workload says of its owner: the job, from now on."""
    owners = [one for one in meta.get("ownerReferences", ()) if one["uid"] != shown.uid]
    kind = JOB_KINDS[shown.job.kind]
    job: Object = {"metadata": {"name": shown.job.name, "uid": shown.uid}}
    return {
        "labels": {names.JOB_UID: shown.uid, **meta.get("labels", {})},
        "ownerReferences": [*owners, *owner_references(job, kind)],
    }


def wanted_spec(shown: WorkloadView, priorities: Mapping[tuple[str, str], int]) -> Object:
    """Return the fields of a job-made Workload's spec that follow from the job, but its podsets.

    ``active`` is the user's; it is ours only where a deactivation was decided.
    """
    spec: Object = {"queueName": shown.queue, **_priority(shown, priorities)}
    if shown.max_execution_s:
        spec["maximumExecutionTimeSeconds"] = shown.max_execution_s
    if shown.deactivated:
        spec["active"] = False
    return spec


def with_class_kept(wanted: Object, found: Object) -> Object:
    """Return wanted fields of a spec without a priority that its class does not have.

    A Workload's class is never taken out, so neither is the priority that stands beside it.
    """
    if "priorityClassRef" in wanted or "priorityClassRef" not in found:
        return wanted
    return {field: value for field, value in wanted.items() if field != "priority"}


def workload_status(shown: WorkloadView, found: Object) -> Object:
    """Return a Workload's status as it shall be; ``found`` is the present one.

    What is not ours stays: check states, and of a direct Workload how its pods stand and its end.
    """
    ours = _ours(shown)
    conditions = {
        one["type"]: one for one in found.get("conditions", ()) if one["type"] not in ours
    }
    conditions |= {kind: _plain(one) for kind, one in shown.conditions.items() if kind in ours}
    status = {**found, "conditions": list(conditions.values())}
    _put(status, "admission", _admission(shown))
    _put(status, "unhealthyNodes", [{"name": one} for one in shown.failed_nodes[:NODES_MAX]])
    _put(status, "resourceRequests", _requests(shown))
    clusters.put(status, shown)
    _put(status, "requeueState", _requeue_state(shown))
    _put(status, "schedulingStats", _stats(shown))
    if shown.parent:
        gates = variants.gate_states(shown, found.get("preemptionGates", []))
        _put(status, "preemptionGates", gates)
    _put(status, "accumulatedPastExecutionTimeSeconds", shown.executed_us // _SECOND_US)
    if not shown.direct:
        done = [{"name": name, "count": count} for name, count in shown.reclaimable.items()]
        _put(status, "reclaimablePods", done)
    return status


def _ours(shown: WorkloadView) -> tuple[str, ...]:
    if not shown.direct:
        return _OURS_OF_JOBS
    finished = shown.conditions.get("Finished")
    orphaned = finished is not None and finished.reason == OWNER_NOT_FOUND
    return (*_OURS, "Finished") if orphaned else _OURS


def is_over(shown: WorkloadView, obj: Object) -> bool:
    """Tell whether a Workload that was made directly is finished, as its user says."""
    told = obj.get("status", {}).get("conditions", ())
    return shown.direct and any(
        one["type"] == "Finished" and one["status"] == "True" for one in told
    )


def put_order(status: Object, shown: WorkloadView) -> None:
    """Say of a direct Workload that shows a reservation that it is ours, before it is started.

    ``status`` is changed in place.
    """
    reserved = shown.holding("QuotaReserved") if shown.direct else None
    if reserved is None:
        return
    if all(one["type"] != names.ORDERED for one in status["conditions"]):
        none = f"{shown.decision.rpartition('/')[0]}/0"
        since = reserved.last_transition_time
        status["conditions"].append(ordered(none, since, runs=False))


def _priority(shown: WorkloadView, priorities: Mapping[tuple[str, str], int]) -> Object:
    for name, (group, kind) in ((shown.priority_class, _WPC), (shown.pod_priority_class, _PC)):
        value = priorities.get((kind, name))
        if name and value is not None:
            reference = {"group": group, "kind": kind, "name": name}
            return {"priorityClassRef": reference, "priority": value}
        if name:
            return {}  # nobody told its value: what stands there stays
    return {"priority": 0 if shown.own_priority is None else shown.own_priority}


def _admission(shown: WorkloadView) -> Object | None:
    if not shown.cluster_queue:
        return None  # who finished shows to the end what it had
    assigned = [_assigned(one) for one in shown.assignment]
    return {"clusterQueue": shown.cluster_queue, "podSetAssignments": assigned}


def _assigned(assignment: PodSetAssignment) -> Object:
    usage = {resource: render(resource, units) for resource, units in assignment.usage.items()}
    told: Object = {
        "name": assignment.name,
        "count": assignment.count,
        "flavors": assignment.flavors,
        "resourceUsage": usage,
    }
    if assignment.topology is not None:
        told["topologyAssignment"] = written_assignment(assignment.topology)
    if assignment.delayed_topology:
        told["delayedTopologyRequest"] = assignment.delayed_topology
    return told


def _requests(shown: WorkloadView) -> list[Object]:
    """Return what the scheduler computed for a workload that waits; nothing once it has quota."""
    return [
        {"name": name, "resources": {one: render(one, units) for one, units in asked.items()}}
        for name, asked in shown.requests.items()
    ]


def _requeue_state(shown: WorkloadView) -> Object | None:
    state: Object = {"count": shown.requeue_count} if shown.requeue_count else {}
    if shown.requeue_after_us:
        state["requeueAt"] = stamp(shown.requeue_after_us)
    return state or None


def _stats(shown: WorkloadView) -> Object | None:
    evictions = [
        {"reason": reason, "underlyingCause": cause, "count": count}
        for (reason, cause), count in shown.evictions.items()
    ]
    return {"evictions": evictions} if evictions else None


def _plain(condition: Condition) -> Object:
    # A Struct leaves an empty message out, and the API server insists on it.
    found: Object = {"message": "", **msgspec.to_builtins(condition)}
    return found


def _put(status: Object, field: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
    if value:
        status[field] = value
    else:
        status.pop(field, None)
