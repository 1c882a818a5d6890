"""Whether an earlier assignment is still valid for its workload."""

from __future__ import annotations

from tidegate.core.flavors.eligibility import mismatch
from tidegate.core.members.placing import holder
from tidegate.core.members.standing import elsewhere
from tidegate.core.quota.charging import PODS, count, per_pod, times
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.topology.cluster import mismatch as topology_mismatch
from tidegate.model.gates import gate
from tidegate.model.podset import PodSet, PodSetAssignment


def outdated(
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    assignment: tuple[PodSetAssignment, ...],
) -> str:
    """Return why an assignment is not valid for a workload any more; "" if it may be.

    The ClusterQueue may have lost flavors, flavors may repel its pods by now, and LimitRanges,
    RuntimeClasses or the policy may have changed the charge of its pods.
    """
    if [podset.name for podset in assignment] != [podset.name for podset in workload.podsets]:
        return "its podsets are others"
    each = per_pod(state, workload)
    for podset, pod, assigned in zip(workload.podsets, each, assignment, strict=True):
        if not _may_start_with(state, workload, podset, assigned.count):
            return f"podset {podset.name} asks for another number of pods"
        requests = times(pod, assigned.count)
        if PODS in cq.group_of:
            requests[PODS] = assigned.count
        counted = {name: units for name, units in requests.items() if name in assigned.flavors}
        if counted != assigned.usage or _uncovered(state, cq, requests, assigned):
            return f"podset {podset.name} is charged otherwise"
        for resource, flavor in assigned.flavors.items():
            if message := _repels(state, cq, workload, podset, resource, flavor):
                return message
    return ""


def _may_start_with(state: State, workload: Workload, podset: PodSet, pods: int) -> bool:
    full = count(workload, podset)
    if pods == full:
        return True
    least = podset.min_count if gate(state.policy, "PartialAdmission") else None
    return least is not None and least <= pods < full


def _uncovered(
    state: State, cq: ClusterQueueState, requests: dict[str, int], assignment: PodSetAssignment
) -> bool:
    """Tell whether a podset now requests a resource for which the assignment has no flavor."""
    ignores = state.policy.ignore_undeclared
    more = (name for name, units in requests.items() if units and name not in assignment.flavors)
    return any(name in cq.group_of or not ignores for name in more)


def _repels(  # noqa: PLR0913, PLR0917 - one podset's one flavor in its queue
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    podset: PodSet,
    resource: str,
    flavor: str,
) -> str:
    group = cq.group_of.get(resource)
    slots = () if group is None else group.slots
    slot = next((slot for slot in slots if slot.flavor == flavor), None)
    if slot is None or slot.spec is None:
        return f"flavor {flavor} is no more"
    allowed = workload.allowed_flavors
    variants = gate(state.policy, "ConcurrentAdmission")
    if variants and allowed is not None and flavor not in allowed:
        return f"flavor {flavor} is not among its allowed flavors"
    away = holder if workload.body else elsewhere
    message = away(state, workload, slot.spec) or mismatch(podset, slot.spec)
    message = message or topology_mismatch(state, podset, slot.spec, only=cq.only_topologies)
    return f"flavor {flavor}: {message}" if message else ""
