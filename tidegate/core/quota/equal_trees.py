"""Keeps the cohort trees that a definition leaves as they were, with all that they have cached.

A kept tree has its usage, and its workloads keep what they watch, so that a change of one tree
costs the workloads of others nothing. It decides as one that is built again would:
tests/core/redefined_judge.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.core.quota.tree import Cell, Node, node_and_ancestors
from tidegate.core.state.cluster_queues import ClusterQueueState, Forest, Tree
from tidegate.model.ids import FlavorResource


def keep_equal_trees(old: Forest, new: Forest) -> None:
    """Put old trees into the new forest in place of equal ones, with the rules that are new.

    Costs O(cells). The new trees have their quotas, and no usage yet.
    """
    for at, tree in enumerate(new.trees):
        cq = old.cluster_queues.get(tree.cluster_queues[0].name)
        if cq is None or not _is_kept(old, cq.tree, tree):
            continue
        new.trees[at] = cq.tree
        for before, now in zip(cq.tree.cluster_queues, tree.cluster_queues, strict=True):
            if (before.spec, before.active) != (now.spec, now.active):
                _redefine(before, now)
        _take_over(new, cq.tree)


def forget_watches(cq: ClusterQueueState) -> None:
    """Let each shape of a ClusterQueue be nominated again: what it lacks is not known any more."""
    cq.watchers.clear()
    cq.reachable = []
    for shape in cq.shapes.values():
        shape.explained, shape.watch, shape.named = False, None, None
        shape.parts = shape.explanation = None
        cq.tree.unproven[id(shape)] = cq, shape, (-1, -1)


def _redefine(before: ClusterQueueState, now: ClusterQueueState) -> None:
    before.spec, before.active = now.spec, now.active
    for node in node_and_ancestors(before.node):
        node.version += 1
    forget_watches(before)


def _is_kept(old: Forest, before: Tree, tree: Tree) -> bool:
    queues = before.cluster_queues
    if before.in_cycle or len(queues) != len(tree.cluster_queues):
        return False
    if old.topologies.stale and any(cq.has_topologies for cq in queues):
        return False  # what its workloads watch is built again
    pairs = zip(queues, tree.cluster_queues, strict=True)
    return all(_has_equal_groups(*pair) for pair in pairs) and _is_equal_node(
        before.root, tree.root
    )


def _take_over(new: Forest, tree: Tree) -> None:
    """Let a tree be one of the forest, changed as by any definition: every right has come back."""
    tree.stamp += 1
    tree.dirty = True
    for cq in tree.cluster_queues:
        new.cluster_queues[cq.name] = cq
    for node in _cohorts_from(tree.root):
        new.cohorts[node.name] = node


def _cohorts_from(node: Node) -> Iterator[Node]:
    if node.is_cohort:
        yield node
        for child in node.children:
            yield from _cohorts_from(child)


def _has_equal_groups(old: ClusterQueueState, new: ClusterQueueState) -> bool:
    if old.name != new.name or old.spec.groups != new.spec.groups:
        return False
    flavors = [
        [(slot.flavor, slot.spec) for group in cq.groups for slot in group.slots]
        for cq in (old, new)
    ]
    return flavors[0] == flavors[1]


def _is_equal_node(old: Node, new: Node) -> bool:
    place = (new.name, new.is_cohort, new.weight, new.height, new.lendable, len(new.children))
    return (
        place == (old.name, old.is_cohort, old.weight, old.height, old.lendable, len(old.children))
        and _are_equal_cells(old.cells, new.cells)
        and all(map(_is_equal_node, old.children, new.children))
    )


def _are_equal_cells(old: dict[FlavorResource, Cell], new: dict[FlavorResource, Cell]) -> bool:
    """Tell whether quotas are equal; usage may have added cells of undefined flavor-resources."""
    if any(fr not in old or _quota(cell) != _quota(old[fr]) for fr, cell in new.items()):
        return False
    return all(fr in new or not cell.defined for fr, cell in old.items())


def _quota(cell: Cell) -> tuple[object, ...]:
    own = (cell.defined, cell.height, cell.nominal, cell.lending, cell.borrowing)
    return (*own, cell.subtree_quota, cell.local_quota, cell.potential)
