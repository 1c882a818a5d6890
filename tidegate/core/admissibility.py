"""Whether a workload may be admitted to its ClusterQueue at all, whatever quota there is.

Every way to an admission asks here: a scheduling cycle, a preemptor whose victims have stopped, a
reservation whose checks are ready, and the adoption of what Kueue had reserved quota for. What may
change between two of these steps is therefore looked at again in each.

Source: behaviour.md 1 (admissibility validation), 8.4 (the order of the reasons), 8.9, 9.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from tidegate.contracts.decisions import PendingReason
from tidegate.core.charging import PODS, count, invalid, per_pod, times
from tidegate.core.checking import required_checks
from tidegate.core.draft import Draft, Workload
from tidegate.core.eligibility import mismatch, selects
from tidegate.core.families import sibling_leaves
from tidegate.core.fitting import asks_for_topology
from tidegate.core.ordering import gate
from tidegate.core.rooms import Room
from tidegate.core.succession import replaced_leaves
from tidegate.model.podset import PodSet, PodSetAssignment

DEACTIVATED = "Deactivated"
NO_LOCAL_QUEUE = "LocalQueueNotFound"
LOCAL_QUEUE_STOPPED = "LocalQueueStopped"
NO_CLUSTER_QUEUE = "ClusterQueueNotFound"
TERMINATING = "ClusterQueueTerminating"
INACTIVE = "ClusterQueueInactive"
GATED = "AdmissionGatedBy"
SLICE_LEAVES = "ReplacedSliceLeaves"
VARIANT_LEAVES = "VariantLeaves"
CHECK_FAILED = "AdmissionCheckFailed"
NO_NAMESPACE = "NamespaceNotFound"
NAMESPACE_MISMATCH = "NamespaceMismatch"
INVALID = "PodSetInvalid"
TOPOLOGY = "TopologyNotSupported"


UNMAPPED = "DeviceClass/"
"""How a gate begins that stands for a device class that no quota counts."""


class Barrier(msgspec.Struct, frozen=True, kw_only=True):
    """Why a workload may not be admitted, until something other than quota changes."""

    code: str  # one of the constants above
    reason: PendingReason  # of its condition QuotaReserved
    details: str  # in English, without a full stop


_Question: TypeAlias = Callable[[Draft, Workload], Barrier | None]


def barrier(draft: Draft, workload: Workload) -> Barrier | None:
    """Return the first thing that forbids to admit a workload; None if only quota is the question.

    Changes nothing; costs no more than its podsets are many.
    """
    return unoffered(draft, workload) or refused(draft, workload)


def is_queued(draft: Draft, workload: Workload) -> bool:
    """Tell whether a workload may stand in its ClusterQueue's queue, whether or not that admits."""
    return all(ask(draft, workload) is None for ask in _QUEUED)


def unoffered(draft: Draft, workload: Workload) -> Barrier | None:
    """Return why a workload's ClusterQueue does not offer it to a scheduling cycle."""
    return _first(_UNOFFERED, draft, workload)


def refused(draft: Draft, workload: Workload) -> Barrier | None:
    """Return why a cycle refuses a workload that it is offered; its ClusterQueue exists."""
    return _first(_REFUSED, draft, workload)


def outdated(
    draft: Draft, room: Room, workload: Workload, assignment: tuple[PodSetAssignment, ...]
) -> str:
    """Return why a workload would not be given this assignment any more; "" if it might.

    Flavors may have been taken out of the ClusterQueue or repel its pods by now, and LimitRanges,
    RuntimeClasses or the policy may charge its pods otherwise.
    """
    if [one.name for one in assignment] != [one.name for one in workload.podsets]:
        return "its podsets are others"
    each = per_pod(draft, workload)
    for podset, pod, given in zip(workload.podsets, each, assignment, strict=True):
        if not _may_start_with(draft, workload, podset, given.count):
            return f"podset {podset.name} asks for another number of pods"
        asked = times(pod, given.count)
        if PODS in room.group_of:
            asked[PODS] = given.count
        counted = {name: units for name, units in asked.items() if name in given.flavors}
        if counted != given.usage or _uncovered(draft, room, asked, given):
            return f"podset {podset.name} is charged otherwise"
        for resource, flavor in given.flavors.items():
            if said := _repels(draft, room, workload, podset, resource, flavor):
                return said
    return ""


def _first(asked: tuple[_Question, ...], draft: Draft, workload: Workload) -> Barrier | None:
    for ask in asked:
        if (found := ask(draft, workload)) is not None:
            return found
    return None


def _deactivated(draft: Draft, workload: Workload) -> Barrier | None:
    del draft
    if workload.active:
        return None
    return Barrier(code=DEACTIVATED, reason="Deactivated", details="its spec.active is false")


def _local_queue(draft: Draft, workload: Workload) -> Barrier | None:
    found = draft.objects.local_queues.get(workload.local_queue)
    if found is None:
        details = f"there is no LocalQueue {workload.queue or '(none is named)'}"
        return Barrier(code=NO_LOCAL_QUEUE, reason="Misconfigured", details=details)
    if found.spec.stop_policy == "None" and not found.deleting:
        return None
    details = f"LocalQueue {workload.queue} is stopped"
    return Barrier(code=LOCAL_QUEUE_STOPPED, reason="Suspended", details=details)


def _cluster_queue(draft: Draft, workload: Workload) -> Barrier | None:
    room = draft.forest.rooms.get(workload.cluster_queue)
    if room is None:
        local = draft.objects.local_queues.get(workload.local_queue)
        name = workload.cluster_queue if local is None else local.spec.cluster_queue
        details = f"there is no ClusterQueue {name}"
        return Barrier(code=NO_CLUSTER_QUEUE, reason="Misconfigured", details=details)
    if room.active:
        return None
    if draft.objects.cluster_queues[room.name].deleting:
        details = f"ClusterQueue {room.name} is being deleted"
        return Barrier(code=TERMINATING, reason="Suspended", details=details)
    details = f"ClusterQueue {room.name} is inactive"
    return Barrier(code=INACTIVE, reason="Suspended", details=details)


def _gated(draft: Draft, workload: Workload) -> Barrier | None:
    del draft
    if not workload.gates:
        return None
    details = "; ".join(_gate(name) for name in workload.gates)
    return Barrier(code=GATED, reason="AdmissionGated", details=details)


def _gate(name: str) -> str:
    if name.startswith(UNMAPPED):
        device_class = name.removeprefix(UNMAPPED)
        return f"device class {device_class} is in no resources.deviceClassMappings"
    return f"it is gated by {name}"


def _replaced(draft: Draft, workload: Workload) -> Barrier | None:
    if not (workload.replaces and replaced_leaves(draft, workload)):
        return None
    details = f"{workload.replaces}, which it would replace, has to leave"
    return Barrier(code=SLICE_LEAVES, reason="PendingEvaluation", details=details)


def _sibling(draft: Draft, workload: Workload) -> Barrier | None:
    """A variant that takes another's place waits for that as for any victim."""
    if not workload.parent or workload.key in draft.intents:
        return None
    if not sibling_leaves(draft, workload):
        return None
    details = "another variant of it has to stop first"
    return Barrier(code=VARIANT_LEAVES, reason="WaitingForPreemptedWorkloads", details=details)


def _checks(draft: Draft, workload: Workload) -> Barrier | None:
    """Of a reservation only the checks count that it has to pass; before, any that spoke."""
    if not workload.checks:
        return None
    asked = list(workload.checks)
    if workload.phase == "reserved":
        asked = required_checks(draft, workload.cluster_queue, workload.assignment)
    told = (workload.checks.get(name) for name in asked)
    if not any(one is not None and one.state in ("Retry", "Rejected") for one in told):
        return None
    details = "an admission check failed"
    return Barrier(code=CHECK_FAILED, reason="PendingEvaluation", details=details)


def _namespace(draft: Draft, workload: Workload) -> Barrier | None:
    name = workload.key.partition("/")[0]
    namespace = draft.objects.namespaces.get(name)
    if namespace is None:
        details = f"there is no namespace {name}"
        return Barrier(code=NO_NAMESPACE, reason="Misconfigured", details=details)
    room = draft.forest.rooms[workload.cluster_queue]
    if selects(room.spec.namespace_selector, namespace.labels):
        return None
    details = "the ClusterQueue's namespaceSelector does not select its namespace"
    return Barrier(code=NAMESPACE_MISMATCH, reason="Misconfigured", details=details)


def _podsets(draft: Draft, workload: Workload) -> Barrier | None:
    said = invalid(draft, workload)
    if not said:
        return None
    return Barrier(code=INVALID, reason="Misconfigured", details=said.rstrip("."))


def _topology(draft: Draft, workload: Workload) -> Barrier | None:
    del draft
    if not any(asks_for_topology(podset) for podset in workload.podsets):
        return None
    details = "nodes are not looked at"
    return Barrier(code=TOPOLOGY, reason="TopologyPlacementFailed", details=details)


_QUEUED: tuple[_Question, ...] = (_deactivated, _local_queue, _gated, _replaced, _sibling)
_UNOFFERED: tuple[_Question, ...] = (
    _deactivated,
    _local_queue,
    _cluster_queue,
    _gated,
    _replaced,
    _sibling,
)
_REFUSED: tuple[_Question, ...] = (_checks, _namespace, _podsets, _topology)


def _may_start_with(draft: Draft, workload: Workload, podset: PodSet, pods: int) -> bool:
    full = count(workload, podset)
    if pods == full:
        return True
    least = podset.min_count if gate(draft.policy, "PartialAdmission", default=True) else None
    return least is not None and least <= pods < full


def _uncovered(draft: Draft, room: Room, asked: dict[str, int], given: PodSetAssignment) -> bool:
    """Tell whether something is asked for now that the assignment gives no flavor to."""
    ignores = draft.policy.ignore_undeclared
    more = (name for name, units in asked.items() if units and name not in given.flavors)
    return any(name in room.group_of or not ignores for name in more)


def _repels(  # noqa: PLR0913, PLR0917 - one podset's one flavor in its queue
    draft: Draft, room: Room, workload: Workload, podset: PodSet, resource: str, flavor: str
) -> str:
    group = room.group_of.get(resource)
    slots = () if group is None else group.slots
    slot = next((one for one in slots if one.flavor == flavor), None)
    if slot is None or slot.spec is None:
        return f"flavor {flavor} is no more"
    allowed = workload.allowed_flavors
    variants = draft.policy.gates.get("ConcurrentAdmission", False)
    if variants and allowed is not None and flavor not in allowed:
        return f"flavor {flavor} is not among its allowed flavors"
    said = mismatch(podset, slot.spec)
    return f"flavor {flavor}: {said}" if said else ""
