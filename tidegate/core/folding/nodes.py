"""Folds topologies, nodes, and the pods on nodes."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.placements import (
    NodeFailed,
    SecondPassFailed,
    TopologyAssigned,
)
from tidegate.contracts.fact_kinds.definitions import (
    NodeDefined,
    NodePodsCleared,
    NodePodsReported,
    NodeRemoved,
    TopologyDefined,
    TopologyRemoved,
)
from tidegate.core.queueing.quota_ops import wake_topology_trees
from tidegate.core.state.interning import intern_amounts, intern_node
from tidegate.core.state.scheduling_queue import invalidate_topology_trees
from tidegate.core.state.state import State
from tidegate.core.topology import cluster

NodeEvent: TypeAlias = (
    TopologyDefined
    | TopologyRemoved
    | NodeDefined
    | NodeRemoved
    | NodePodsReported
    | NodePodsCleared
)
PlacementEvent: TypeAlias = TopologyAssigned | NodeFailed | SecondPassFailed


def apply_node(  # noqa: C901 - an arm an event
    state: State, event: NodeEvent
) -> None:
    """Fold a topology, a node or its pods, or the deletion of one."""
    objects = state.objects
    match event:
        case TopologyDefined():
            objects.topologies[event.name] = event
        case TopologyRemoved():
            objects.topologies.pop(event.name, None)
        case NodeDefined():
            objects.nodes[event.name] = intern_node(event)
        case NodeRemoved():
            objects.nodes.pop(event.name, None)
        case NodePodsReported():
            objects.node_pods[event.name] = replace(event, usage=intern_amounts(event.usage))
        case NodePodsCleared():
            objects.node_pods.pop(event.name, None)
        case _:
            assert_never(event)
    if isinstance(event, TopologyDefined | TopologyRemoved):
        state.forest.stale = state.forest.topologies.stale = True
        state.redefined_seq = state.seq
        return
    cluster.update_node(state, event.name)
    if state.workloads:
        wake_topology_trees(state)


def apply_placement(state: State, event: PlacementEvent) -> None:
    """Fold new nodes for the pods of a workload with quota, or the failure of one of its nodes."""
    workload = state.workloads.get(event.workload)
    if workload is None or workload.uid != event.uid:
        return
    match event:
        case TopologyAssigned():
            workload.assignment, workload.failed_nodes = event.assignment, ()
            cluster.charge_placement(state, workload)
            invalidate_topology_trees(state, event.assignment)
            state.forest.to_reconcile[workload.key] = None
        case NodeFailed():
            workload.failed_nodes = tuple(dict.fromkeys((*workload.failed_nodes, event.node)))
            cluster.note_waiting(state.forest.topologies, workload)
        case SecondPassFailed():
            pass
        case _:
            assert_never(event)
