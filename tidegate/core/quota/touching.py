"""Notes that a tree is to be looked at again: quota is used otherwise there, or nodes are."""

from __future__ import annotations

from tidegate.core.quota.tree import Node
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import State
from tidegate.model.podset import PodSetAssignment


def touch(state: State, tree: Tree) -> None:
    """Note that a tree is to be looked at again: who may start or preempt may have changed."""
    tree.stamp += 1
    if not tree.dirty:
        tree.dirty = True
        state.forest.dirty.append(tree)


def move(state: State, at: ClusterQueueState) -> None:
    """Note that what is used in a ClusterQueue, or by whom, has changed."""
    node: Node | None = at.node
    while node is not None:
        node.version += 1
        node = node.parent
    touch(state, at.tree)


def touch_placing(state: State, assignment: tuple[PodSetAssignment, ...]) -> None:
    """Note that other pods are on nodes than before, or will be: trees may share nodes."""
    if any(podset.topology is not None for podset in assignment):
        for tree in state.forest.placing:
            touch(state, tree)
