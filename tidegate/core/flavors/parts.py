"""A workload's demands by part: its requests, the flavors that its pods may use, topology capacity.

Source: behaviour.md 5.2, 12.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tidegate.core.flavors.assignment import podset_groups
from tidegate.core.flavors.eligibility import requests_topology
from tidegate.core.flavors.fitting import Inputs, is_eligible, no_candidates
from tidegate.core.flavors.placement import placement_request
from tidegate.core.quota.charging import PODS, pod_count, requests_per_pod, total_requests
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Group, Part, Parts, Slot
from tidegate.core.topology.capacity import Demand, demand
from tidegate.core.topology.fitting.request import Failure
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet


def parts_of(state: State, cq: ClusterQueueState, workload: Workload) -> Parts:
    """Return a workload's requests, part by part; computed once for each shape.

    Computed each time for workloads whose flavors depend on nodes or on an older slice.
    """
    shape = workload.shape
    if shape is not None and shape.parts is not None:
        return shape.parts
    placed = cq.has_topologies or any(map(requests_topology, workload.podsets))
    if shape is None or placed or workload.replaces:
        return _compute_parts(state, cq, workload)
    shape.parts = _compute_parts(state, cq, workload)
    return shape.parts


def _compute_parts(state: State, cq: ClusterQueueState, workload: Workload) -> Parts:
    question = Inputs(state=state, workload=workload, cq=cq, oracle=no_candidates, only=None)
    parts, covered = list[Part](), True
    for members in podset_groups(workload.podsets):
        podsets = [workload.podsets[at] for at in members]
        total = _total_requests(state, cq, workload, members, least=False)
        least = _total_requests(state, cq, workload, members, least=True)
        by_group: dict[int, Part] = {}
        for name in sorted(total, reverse=True):
            group = cq.group_of.get(name)
            if group is None:
                covered = covered and not total[name]
                continue
            part = by_group.setdefault(id(group), Part(podsets=podsets, group=group))
        for part in by_group.values():
            for name in filter(total.__contains__, part.group.resources):
                part.requests[name], part.least[name] = total[name], least[name]
        for part in by_group.values():
            slots = part.group.slots
            part.slots = [
                slot for slot in slots if is_eligible(question, podsets, slot, list(part.requests))
            ]
            parts.append(part)
    return Parts(each=parts, covered=covered, needs=_needed_flavor_resources(state, cq, workload))


def _total_requests(
    state: State, cq: ClusterQueueState, workload: Workload, members: list[int], *, least: bool
) -> dict[str, int]:
    """Return the total requests of podsets; ``least``: with as few pods as they may start with."""
    each, total = requests_per_pod(state, workload), dict[str, int]()
    for at in members:
        podset = workload.podsets[at]
        pods = _counted_pods(workload, podset, least=least)
        requests = total_requests(each[at], pods)
        if PODS in cq.group_of:
            requests[PODS] = pods
        for name, units in requests.items():
            total[name] = total.get(name, 0) + units
    return total


def _counted_pods(workload: Workload, podset: PodSet, *, least: bool) -> int:
    pods = pod_count(workload, podset)
    return pods if podset.min_count is None or not least else min(pods, podset.min_count)


def _needed_flavor_resources(
    state: State, cq: ClusterQueueState, workload: Workload
) -> tuple[FlavorResource, ...]:
    """Return every flavor-resource that a workload may be charged."""
    requests = dict.fromkeys(
        (PODS, *(name for each in requests_per_pod(state, workload) for name in each))
    )
    groups: dict[int, Group] = {}
    for name in requests:
        if (group := cq.group_of.get(name)) is not None:
            groups[id(group)] = group
    return tuple(
        slot.cells[name].fr
        for group in groups.values()
        for slot in group.slots
        for name in group.resources
        if name in requests
    )


def explained_demand(
    state: State, workload: Workload, podset: str, flavor: str
) -> Demand | Failure | None:
    """Return the demand on a flavor's nodes of a podset in a workload's reason; None: not known.

    A failure: no nodes would suffice.
    """
    for members in podset_groups(workload.podsets):
        podsets = [workload.podsets[at] for at in members]
        if any(other_podset.name == podset for other_podset in podsets):
            return _placement_demand(state, workload, podsets, flavor, least=False)
    return None


def least_demand(
    state: State, cq: ClusterQueueState, workload: Workload, podsets: Sequence[PodSet], slot: Slot
) -> Demand | Failure | None:
    """Return the least demand of podsets on a flavor's nodes, if they get this flavor.

    None: none, or it depends on more: on other flavors, or on checks that provide nodes.
    """
    if slot.spec is None or not slot.spec.topology or cq.spec.checks or workload.replaces:
        return None
    placing = [
        group
        for group in cq.groups
        if any(
            flavor_slot.spec is not None and flavor_slot.spec.topology
            for flavor_slot in group.slots
        )
    ]
    if len(placing) > 1:
        return None
    return _placement_demand(state, workload, podsets, slot.flavor, least=True)


def _placement_demand(
    state: State, workload: Workload, podsets: Sequence[PodSet], flavor: str, *, least: bool
) -> Demand | Failure | None:
    placer = state.forest.topologies.placers.get(flavor)
    several = len(podsets) > 1
    if placer is None or len(podsets) > 2 or workload.replaces:  # noqa: PLR2004 - a leader and its workers
        return None
    if several and not all(map(requests_topology, podsets)):
        return None
    asks = [
        placement_request(state, workload, podset, flavor, pod_count(workload, podset))
        for podset in podsets
    ]
    if not least or all(podset.min_count is None for podset in podsets):
        return demand(placer, flavor, asks)
    [ask], [podset] = asks[:1], podsets[:1]
    if several or podset.min_count is None:
        return None
    fewer = replace(ask, count=min(ask.count, podset.min_count))
    return demand(placer, flavor, [fewer], at_least=True)
