"""Marks a tree dirty, so that the next cycle runs on it: its usage or its nodes changed."""

from __future__ import annotations

from tidegate.core.quota.tree import Node
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import State
from tidegate.model.podset import PodSetAssignment


def touch(state: State, tree: Tree) -> None:
    """Mark a tree dirty: which workloads may start or preempt may have changed."""
    tree.stamp += 1
    if not tree.dirty:
        tree.dirty = True
        state.forest.dirty.append(tree)


def move(state: State, at: ClusterQueueState) -> None:
    """Note that the usage of a ClusterQueue, or the workloads that have it, changed."""
    node: Node | None = at.node
    while node is not None:
        node.version += 1
        node = node.parent
    touch(state, at.tree)


def touch_placing(state: State, assignment: tuple[PodSetAssignment, ...]) -> None:
    """Mark trees with topologies dirty if an assignment places pods: trees may share nodes."""
    if any(podset.topology is not None for podset in assignment):
        for tree in state.forest.placing:
            touch(state, tree)
