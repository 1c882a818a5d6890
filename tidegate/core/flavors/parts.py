"""A workload's requests for each resource group, and the flavors that its pods may use.

Source: behaviour.md 5.2.
"""

from __future__ import annotations

from tidegate.core.flavors.assignment import grouped
from tidegate.core.flavors.eligibility import asks_for_topology
from tidegate.core.flavors.fitting import Question, eligible, no_victims
from tidegate.core.quota.charging import PODS, count, per_pod, times
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Group, Part, Parts
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet


def parts_of(state: State, cq: ClusterQueueState, workload: Workload) -> Parts:
    """Return a workload's requests, part by part; computed once for each shape.

    Computed each time for workloads whose flavors depend on nodes or on an older slice.
    """
    shape = workload.shape
    if shape is not None and shape.parts is not None:
        return shape.parts
    placed = cq.has_topologies or any(map(asks_for_topology, workload.podsets))
    if shape is None or placed or workload.replaces:
        return _parts(state, cq, workload)
    shape.parts = _parts(state, cq, workload)
    return shape.parts


def _parts(state: State, cq: ClusterQueueState, workload: Workload) -> Parts:
    question = Question(state=state, workload=workload, cq=cq, oracle=no_victims, only=None)
    parts, covered = list[Part](), True
    for members in grouped(workload.podsets):
        podsets = [workload.podsets[at] for at in members]
        total = _total(state, cq, workload, members, least=False)
        least = _total(state, cq, workload, members, least=True)
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
                slot for slot in slots if eligible(question, podsets, slot, list(part.requests))
            ]
            parts.append(part)
    return Parts(each=parts, covered=covered, needs=_needs(state, cq, workload))


def _total(
    state: State, cq: ClusterQueueState, workload: Workload, members: list[int], *, least: bool
) -> dict[str, int]:
    """Return the total requests of podsets; ``least``: with as few pods as they may start with."""
    each, total = per_pod(state, workload), dict[str, int]()
    for at in members:
        podset = workload.podsets[at]
        pods = _pods(workload, podset, least=least)
        requests = times(each[at], pods)
        if PODS in cq.group_of:
            requests[PODS] = pods
        for name, units in requests.items():
            total[name] = total.get(name, 0) + units
    return total


def _pods(workload: Workload, podset: PodSet, *, least: bool) -> int:
    pods = count(workload, podset)
    return pods if podset.min_count is None or not least else min(pods, podset.min_count)


def _needs(state: State, cq: ClusterQueueState, workload: Workload) -> tuple[FlavorResource, ...]:
    """Return every flavor-resource that a workload may be charged."""
    requests = dict.fromkeys((PODS, *(name for each in per_pod(state, workload) for name in each)))
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
