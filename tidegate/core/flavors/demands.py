"""The topology capacity of a flavor that a workload's podsets need, so that it can be watched.

Source: behaviour.md 12.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tidegate.core.flavors.assignment import grouped
from tidegate.core.flavors.eligibility import asks_for_topology
from tidegate.core.flavors.placing import request_of
from tidegate.core.quota.charging import count
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Slot
from tidegate.core.topology.capacity import Demand, demand
from tidegate.core.topology.fitting.request import Failure
from tidegate.model.podset import PodSet


def explained_demand(
    state: State, workload: Workload, podset: str, flavor: str
) -> Demand | Failure | None:
    """Return the demand on a flavor's nodes of a podset in a workload's reason; None: not known.

    A failure: no nodes would suffice.
    """
    for members in grouped(workload.podsets):
        podsets = [workload.podsets[at] for at in members]
        if any(other_podset.name == podset for other_podset in podsets):
            return _demand(state, workload, podsets, flavor, least=False)
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
    return _demand(state, workload, podsets, slot.flavor, least=True)


def _demand(
    state: State, workload: Workload, podsets: Sequence[PodSet], flavor: str, *, least: bool
) -> Demand | Failure | None:
    placer = state.forest.topologies.placers.get(flavor)
    several = len(podsets) > 1
    if placer is None or len(podsets) > 2 or workload.replaces:  # noqa: PLR2004 - a leader and its workers
        return None
    if several and not all(map(asks_for_topology, podsets)):
        return None
    asks = [
        request_of(state, workload, podset, flavor, count(workload, podset)) for podset in podsets
    ]
    if not least or all(podset.min_count is None for podset in podsets):
        return demand(placer, flavor, asks)
    [ask], [podset] = asks[:1], podsets[:1]
    if several or podset.min_count is None:
        return None
    fewer = replace(ask, count=min(ask.count, podset.min_count))
    return demand(placer, flavor, [fewer], at_least=True)
