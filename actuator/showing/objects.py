"""The JSON of what is shown: a Workload's spec and status, the statuses of queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actuator.showing.counts import FlavorUsage, Numbers
from actuator.showing.shown import Shown
from tidegate.contracts.decisions import ClusterQueueReadinessChanged
from tidegate.jobs.kind import JobKind, Object
from tidegate.kinds import names
from tidegate.kinds.meta import Condition
from tidegate.kinds.times import stamp
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quantity import render
from tidegate.model.quota import ClusterQueueSpec, LocalQueueSpec

API_VERSION = f"{names.GROUP}/{names.VERSIONS[0]}"
_OURS = ("QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued")
_OURS_OF_JOBS = (*_OURS, "PodsReady", "Finished", "DeactivationTarget")
_WPC, _PC = (names.GROUP, "WorkloadPriorityClass"), ("scheduling.k8s.io", "PriorityClass")


def workload(
    shown: Shown, job: Object, kind: JobKind[Any], priorities: Mapping[tuple[str, str], int]
) -> Object:
    """Return the Workload object of a job as it is made; its status is written after it."""
    owner = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": shown.job.name,
        "uid": shown.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {
            "namespace": shown.namespace,
            "name": shown.name,
            "labels": {names.JOB_UID: shown.uid},
            "annotations": {names.DECISION: shown.decision},
            "ownerReferences": [owner],
        },
        "spec": {**wanted_spec(shown, priorities), "podSets": kind.podsets(job)},
    }


def wanted_spec(shown: Shown, priorities: Mapping[tuple[str, str], int]) -> Object:
    """Return the fields of a job-made Workload's spec that follow from the job, but its podsets.

    ``active`` is the user's; it is ours only where a deactivation was decided.
    """
    spec: Object = {"queueName": shown.queue, **_priority(shown, priorities)}
    if shown.max_execution_s:
        spec["maximumExecutionTimeSeconds"] = shown.max_execution_s
    if shown.deactivated:
        spec["active"] = False
    return spec


def workload_status(shown: Shown, found: Object) -> Object:
    """Return a Workload's status as it shall be; ``found`` is the present one.

    What is not ours stays: check states, and of a direct Workload how its pods stand and its end.
    """
    ours = _OURS if shown.direct else _OURS_OF_JOBS
    conditions = {
        one["type"]: one for one in found.get("conditions", ()) if one["type"] not in ours
    }
    conditions |= {kind: _plain(one) for kind, one in shown.conditions.items() if kind in ours}
    status = {**found, "conditions": list(conditions.values())}
    _put(status, "admission", _admission(shown))
    _put(status, "requeueState", _requeue_state(shown))
    _put(status, "schedulingStats", _stats(shown))
    if not shown.direct:
        done = [{"name": name, "count": count} for name, count in shown.reclaimable.items()]
        _put(status, "reclaimablePods", done)
    return status


def cluster_queue_status(
    spec: ClusterQueueSpec,
    numbers: Numbers,
    readiness: ClusterQueueReadinessChanged | None,
    found: Object,
) -> Object:
    """Return a ClusterQueue's status as it shall be; ``found`` is the present one."""
    status = {**found, **_counts(numbers)}
    for field, usage in _usages(numbers):
        status[field] = _flavors(spec, usage, borrowed=True)
    if readiness is not None:
        active = _active(
            readiness.active, readiness.reason, readiness.message, stamp(readiness.at_us)
        )
        status["conditions"] = _with_condition(found, active)
    return status


def local_queue_status(
    spec: LocalQueueSpec,
    queue: ClusterQueueSpec | None,
    numbers: Numbers,
    readiness: ClusterQueueReadinessChanged | None,
    found: Object,
) -> Object:
    """Return a LocalQueue's status as it shall be; ``queue`` is its ClusterQueue, if there is."""
    status = {**found, **_counts(numbers)}
    for field, usage in _usages(numbers):
        status[field] = [] if queue is None else _flavors(queue, usage, borrowed=False)
    at = stamp(0 if readiness is None else readiness.at_us)
    status["conditions"] = _with_condition(found, _local_active(spec, queue, readiness, at))
    return status


def _local_active(
    spec: LocalQueueSpec,
    queue: ClusterQueueSpec | None,
    readiness: ClusterQueueReadinessChanged | None,
    at: str,
) -> Object:
    if spec.stop_policy != "None":
        return _active(False, "Stopped", "LocalQueue is stopped", at)  # noqa: FBT003 - a status
    if queue is None:
        said = "Can't submit new workloads to clusterQueue"
        return _active(False, "ClusterQueueDoesNotExist", said, at)  # noqa: FBT003 - a status
    if readiness is not None and not readiness.active:
        said = "Can't submit new workloads to clusterQueue"
        return _active(False, "ClusterQueueIsInactive", said, at)  # noqa: FBT003 - a status
    return _active(True, "Ready", "Can submit new workloads to localQueue", at)  # noqa: FBT003 - a status


def _active(active: bool, reason: str, message: str, at: str) -> Object:  # noqa: FBT001 - a status
    return {
        "type": "Active",
        "status": str(active),
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
    }


def _with_condition(found: Object, wanted: Object) -> list[Object]:
    """Put a condition in place of the one of its type, whose time stays if its status does."""
    held = {one["type"]: one for one in found.get("conditions", ())}
    before = held.get(wanted["type"], {})
    if before.get("status") == wanted["status"]:
        wanted = {**wanted, "lastTransitionTime": before["lastTransitionTime"]}
    return list({**held, wanted["type"]: wanted}.values())


def _counts(numbers: Numbers) -> Object:
    return {
        "pendingWorkloads": numbers.pending,
        "reservingWorkloads": numbers.reserving,
        "admittedWorkloads": numbers.admitted,
    }


def _usages(numbers: Numbers) -> Sequence[tuple[str, FlavorUsage]]:
    return (
        ("flavorsReservation", numbers.reserved_usage),
        ("flavorsUsage", numbers.admitted_usage),
    )


def _flavors(spec: ClusterQueueSpec, usage: FlavorUsage, *, borrowed: bool) -> list[Object]:
    flavors = list[Object]()
    for group in spec.groups:
        for flavor in group.flavors:
            resources = list[Object]()
            for name, quota in flavor.quotas.items():
                units = usage[flavor.flavor, name]
                over = max(units - quota.nominal, 0) if spec.cohort else 0
                told = {"name": name, "total": render(name, units)}
                resources.append({**told, "borrowed": render(name, over)} if borrowed else told)
            flavors.append({"name": flavor.flavor, "resources": resources})
    return flavors


def _priority(shown: Shown, priorities: Mapping[tuple[str, str], int]) -> Object:
    for name, (group, kind) in ((shown.priority_class, _WPC), (shown.pod_priority_class, _PC)):
        value = priorities.get((kind, name))
        if name and value is not None:
            reference = {"group": group, "kind": kind, "name": name}
            return {"priorityClassRef": reference, "priority": value}
        if name:
            return {}  # nobody told its value: what stands there stays
    return {"priority": 0 if shown.own_priority is None else shown.own_priority}


def _admission(shown: Shown) -> Object | None:
    if not shown.cluster_queue:
        return None  # who finished shows to the end what it had
    assigned = [_assigned(one) for one in shown.assignment]
    return {"clusterQueue": shown.cluster_queue, "podSetAssignments": assigned}


def _assigned(one: PodSetAssignment) -> Object:
    usage = {resource: render(resource, units) for resource, units in one.usage.items()}
    return {"name": one.name, "count": one.count, "flavors": one.flavors, "resourceUsage": usage}


def _requeue_state(shown: Shown) -> Object | None:
    state: Object = {"count": shown.requeue_count} if shown.requeue_count else {}
    if shown.requeue_after_us:
        state["requeueAt"] = stamp(shown.requeue_after_us)
    return state or None


def _stats(shown: Shown) -> Object | None:
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
