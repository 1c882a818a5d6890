"""The JSON of the statuses of ClusterQueues, Cohorts and LocalQueues.

Field by field as in Kueue; what is not ours in a status stays as it is found.

Source: behaviour.md 17, 8.9; conformance/usage-report.
"""

from __future__ import annotations

from collections.abc import Sequence

from actuator.projection.queues.counts import FlavorUsage, Numbers
from tidegate.contracts.decisions import ClusterQueueReadinessChanged
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueRemoved,
    LocalQueueDefined,
    LocalQueueRemoved,
)
from tidegate.jobs.kind import Object
from tidegate.kinds.times import stamp
from tidegate.model.quantity import render
from tidegate.model.quota import ClusterQueueSpec


def cluster_queue_status(
    spec: ClusterQueueSpec,
    numbers: Numbers,
    readiness: ClusterQueueReadinessChanged | None,
    share: int | None,
    current: Object,
) -> Object:
    """Return a ClusterQueue's desired status; ``current`` is the present one.

    ``share``: weighted, in thousandths; None without fair sharing.
    """
    status = {**cohort_status(share, current), **_counts(numbers)}
    for field, usage in _usages(numbers):
        status[field] = _flavors(spec, usage, borrowed=True)
    if readiness is not None:
        active = _active(
            readiness.active, readiness.reason, readiness.message, stamp(readiness.at_us)
        )
        status["conditions"] = _with_condition(current, active)
    return status


def cohort_status(share: int | None, current: Object) -> Object:
    """Return a Cohort's desired status; parameters as of ``cluster_queue_status``."""
    status = {name: value for name, value in current.items() if name != "fairSharing"}
    if share is not None:
        status["fairSharing"] = {"weightedShare": share}
    return status


def local_queue_status(
    defined: LocalQueueDefined,
    queue: ClusterQueueSpec | None,
    numbers: Numbers,
    readiness: ClusterQueueReadinessChanged | None,
    current: Object,
) -> Object:
    """Return a LocalQueue's status as it shall be; ``queue`` is its ClusterQueue, if there is."""
    status = {**current, **_counts(numbers)}
    for field, usage in _usages(numbers):
        status[field] = [] if queue is None else _flavors(queue, usage, borrowed=False)
    at_us = max(defined.at_us, 0 if readiness is None else readiness.at_us)
    reason, message = _local_readiness(defined, queue, readiness)
    active = _active(reason == "Ready", reason, message, stamp(at_us))
    status["conditions"] = _with_condition(current, active)
    return status


def key_of(event: LocalQueueDefined | LocalQueueRemoved) -> str:
    """Return the key of a LocalQueue."""
    return f"{event.namespace}/{event.name}"


def gone(event: ClusterQueueRemoved) -> ClusterQueueReadinessChanged:
    """Return since when a ClusterQueue that is gone leads its LocalQueues nowhere."""
    return ClusterQueueReadinessChanged(
        at_us=event.at_us, cluster_queue=event.name, active=False, reason="NotFound"
    )


def _local_readiness(
    defined: LocalQueueDefined,
    queue: ClusterQueueSpec | None,
    readiness: ClusterQueueReadinessChanged | None,
) -> tuple[str, str]:
    if defined.spec.stop_policy != "None":
        return "Stopped", "LocalQueue is stopped"
    if queue is None:
        return "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue"
    if readiness is not None and not readiness.active:
        return "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"
    return "Ready", "Can submit new workloads to localQueue"


def _active(active: bool, reason: str, message: str, at: str) -> Object:  # noqa: FBT001 - a status
    return {
        "type": "Active",
        "status": str(active),
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
    }


def _with_condition(current: Object, condition: Object) -> list[Object]:
    """Replace the condition of the same type; with an equal status it keeps its transition time."""
    conditions = {
        each_condition["type"]: each_condition for each_condition in current.get("conditions", ())
    }
    before = conditions.get(condition["type"], {})
    if before.get("status") == condition["status"]:
        condition = {**condition, "lastTransitionTime": before["lastTransitionTime"]}
    return list({**conditions, condition["type"]: condition}.values())


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
                resource_total = {"name": name, "total": render(name, units)}
                resources.append(
                    {**resource_total, "borrowed": render(name, over)}
                    if borrowed
                    else resource_total
                )
            flavors.append({"name": flavor.flavor, "resources": resources})
    return flavors
