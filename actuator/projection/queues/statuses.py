"""The statuses of ClusterQueues, Cohorts and LocalQueues.

Field by field as in Kueue; what is not ours in a status stays as it is found.

Source: behaviour.md 17, 8.9; conformance/usage-report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from actuator.projection.queues.numbers import FlavorUsage, Numbers
from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    DecisionEvent,
    LocalQueueUsageSampled,
)
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueRemoved,
    LocalQueueDefined,
    LocalQueueRemoved,
)
from tidegate.contracts.facts import FactEvent, PolicyConfigured
from tidegate.jobs.kind import Object
from tidegate.kinds.times import rfc3339
from tidegate.model.quantity import format_quantity
from tidegate.model.quota import ClusterQueueSpec

_MILLI = 1_000


class Consumption:
    """The last sampled usage of each LocalQueue, by "<namespace>/<name>"."""

    def __init__(self) -> None:
        self._shown = dict[str, Object]()
        self._off = False  # nothing is shared between LocalQueues, so nothing is to be shown

    def apply_event(self, event: FactEvent | DecisionEvent) -> list[tuple[str, str]]:
        """Take in an event; return the places that it changes."""
        match event:
            case LocalQueueUsageSampled():
                status = {
                    f"{sample.namespace}/{sample.name}": {
                        "consumedResources": _quantities(sample.consumed),
                        "lastUpdate": rfc3339(event.at_us),
                    }
                    for sample in event.usage
                }
                self._shown.update(status)
                changed = list(status)
            case LocalQueueRemoved():
                self._shown.pop(key_of(event), None)
                return []
            case PolicyConfigured():
                self._off = event.policy.admission_fair_sharing is None
                changed = list(self._shown) if self._off else []
                self._shown = {} if self._off else self._shown
            case _:
                return []
        return [("LocalQueue", key) for key in changed]

    def with_consumption(self, key: str, status: Object) -> Object:
        """Return a LocalQueue's status with what is known of its consumption."""
        consumed = self._shown.get(key)
        sharing_before = status.get("fairSharing", {})
        if consumed is not None:
            sharing = {"weightedShare": 0, **sharing_before, "admissionFairSharingStatus": consumed}
            return {**status, "fairSharing": sharing}
        if self._off and sharing_before:
            return {name: value for name, value in status.items() if name != "fairSharing"}
        return status


def _quantities(consumed: Mapping[str, str]) -> Object:
    """Write natural units as Quantities, to a thousandth."""
    amounts: Object = {}
    for resource, text in consumed.items():
        milli = round(Decimal(text) * _MILLI)
        whole = resource != "cpu" and milli % _MILLI == 0
        amounts[resource] = (
            format_quantity(resource, milli // _MILLI) if whole else format_quantity("cpu", milli)
        )
    return amounts


def cluster_queue_status(
    spec: ClusterQueueSpec,
    numbers: Numbers,
    readiness: ClusterQueueReadinessChanged | None,
    share: int | None,
    current: Object,
) -> Object:
    """Return a ClusterQueue's desired status; ``current`` is the present one.

    ``workload_share``: weighted, in thousandths; None without fair sharing.
    """
    status = {**cohort_status(share, current), **_count_fields(numbers)}
    for field, usage in _usages(numbers):
        status[field] = _flavor_usages(spec, usage, borrowed=True)
    if readiness is not None:
        active = _active_condition(
            readiness.active, readiness.reason, readiness.message, rfc3339(readiness.at_us)
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
    """Return a LocalQueue's desired status; ``queue`` is its ClusterQueue, if there is."""
    status = {**current, **_count_fields(numbers)}
    for field, usage in _usages(numbers):
        status[field] = [] if queue is None else _flavor_usages(queue, usage, borrowed=False)
    at_us = max(defined.at_us, 0 if readiness is None else readiness.at_us)
    reason, message = _local_readiness(defined, queue, readiness)
    active = _active_condition(reason == "Ready", reason, message, rfc3339(at_us))
    status["conditions"] = _with_condition(current, active)
    return status


def key_of(event: LocalQueueDefined | LocalQueueRemoved) -> str:
    """Return the key of a LocalQueue."""
    return f"{event.namespace}/{event.name}"


def readiness_of_removed(event: ClusterQueueRemoved) -> ClusterQueueReadinessChanged:
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


def _active_condition(active: bool, reason: str, message: str, at: str) -> Object:  # noqa: FBT001 - a status
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


def _count_fields(numbers: Numbers) -> Object:
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


def _flavor_usages(spec: ClusterQueueSpec, usage: FlavorUsage, *, borrowed: bool) -> list[Object]:
    flavors = list[Object]()
    for group in spec.groups:
        for flavor in group.flavors:
            resources = list[Object]()
            for name, quota in flavor.quotas.items():
                units = usage[flavor.flavor, name]
                over = max(units - quota.nominal, 0) if spec.cohort else 0
                resource_total = {"name": name, "total": format_quantity(name, units)}
                resources.append(
                    {**resource_total, "borrowed": format_quantity(name, over)}
                    if borrowed
                    else resource_total
                )
            flavors.append({"name": flavor.flavor, "resources": resources})
    return flavors
