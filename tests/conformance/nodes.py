"""The nodes of a draft's cohort trees, by name."""

from __future__ import annotations

from tidegate.core import forest
from tidegate.core.draft import Draft
from tidegate.core.rooms import Room
from tidegate.core.tree import Node
from tidegate.model.ids import FlavorResource


def room(draft: Draft, cluster_queue: str) -> Room:
    """Return a ClusterQueue's room, which must be there."""
    found = forest.room(draft, cluster_queue)
    assert found is not None
    return found


def queue(draft: Draft, name: str) -> Node:
    """Return a ClusterQueue's node, which must be there."""
    return room(draft, name).node


def cohort(draft: Draft, name: str) -> Node:
    """Return a cohort's node, which must be there."""
    found = forest.cohort(draft, name)
    assert found is not None
    return found


def cohorts(draft: Draft) -> dict[str, Node]:
    """Return every cohort's node by name, implied ones too."""
    return forest.forest(draft).cohorts


def usage(node: Node) -> dict[FlavorResource, int]:
    """Return what a node's tree says is used at it."""
    return {fr: cell.usage for fr, cell in node.cells.items()}


def root(node: Node) -> Node:
    """Return the root of a node's tree."""
    while node.parent is not None:
        node = node.parent
    return node
