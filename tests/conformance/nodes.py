"""The nodes of a state's cohort trees, by name."""

from __future__ import annotations

from tidegate.core.quota import forest
from tidegate.core.quota.tree import Node
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State
from tidegate.model.ids import FlavorResource


def cq(state: State, cluster_queue: str) -> ClusterQueueState:
    """Return a ClusterQueue's room, which must be there."""
    return forest.forest(state).cluster_queues[cluster_queue]


def queue(state: State, name: str) -> Node:
    """Return a ClusterQueue's node, which must be there."""
    return cq(state, name).node


def cohort(state: State, name: str) -> Node:
    """Return a cohort's node, which must be there."""
    return cohorts(state)[name]


def cohorts(state: State) -> dict[str, Node]:
    """Return every cohort's node by name, implied ones too."""
    return forest.forest(state).cohorts


def usage(node: Node) -> dict[FlavorResource, int]:
    """Return what a node's tree says is used at it."""
    return {fr: cell.usage for fr, cell in node.cells.items()}


def root(node: Node) -> Node:
    """Return the root of a node's tree."""
    while node.parent is not None:
        node = node.parent
    return node
