"""The cohort trees of a folded ledger as rows: quota, usage, what is borrowed and lent, shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from tidegate.core.quota.forest import forest
from tidegate.core.quota.shares import dominant_share
from tidegate.core.quota.tree import Cell, Node, root_of
from tidegate.core.state.state import State
from tidegate.errors import UnknownNameError
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import UNLIMITED, format_quantity
from tidegate.model.quota import WEIGHT_ONE

Row: TypeAlias = dict[str, Any]
_WIDTH = 20


class TreeNode(NamedTuple):
    """A node of a tree, and how deep it is in it; a root has depth 0."""

    node: Node
    depth: int


def nodes_of_partitions(states: Sequence[State], name: str = "") -> list[TreeNode]:
    """Return the nodes of the trees of all partitions; of one tree if a node of it is named.

    Raises:
        UnknownNameError: nothing is called so.
    """
    if not name:
        return [placed for state in states for placed in tree_nodes(state)]
    for state in states[:-1]:
        with suppress(UnknownNameError):
            return tree_nodes(state, name)
    return tree_nodes(states[-1], name)


def tree_nodes(state: State, name: str = "") -> list[TreeNode]:
    """Return the nodes of all trees from their roots down; of one tree if a node of it is named.

    Raises:
        UnknownNameError: nothing is called so.
    """
    if name:
        return list(_walk_subtree(_root_above(state, name), 0))
    roots = [tree.root for tree in forest(state).trees]
    roots += [node for node in forest(state).cohorts.values() if node.parent is None]
    distinct = {id(root): root for root in roots}
    return [placed for root in distinct.values() for placed in _walk_subtree(root, 0)]


def _root_above(state: State, name: str) -> Node:
    """Return the root of the tree of a ClusterQueue, else of a Cohort.

    Raises:
        UnknownNameError: nothing is called so.
    """
    queue, trees = forest(state).cluster_queues.get(name), forest(state)
    node = trees.cohorts.get(name) if queue is None else queue.node
    if node is not None:
        return root_of(node)
    raise UnknownNameError(
        f"There is no ClusterQueue and no Cohort {name!r}: see `tidegate show tree` for all, or "
        "name a workload as job/NAME."
    )


def tree_rows(nodes: Iterable[TreeNode]) -> list[Row]:
    """Return for each node and flavor-resource its quota and usage."""
    pools = _LendingPools()
    return [
        {
            "name": node.name,
            "kind": _kind(node),
            "depth": depth,
            "parent": "" if node.parent is None else node.parent.name,
            "flavor": fr.flavor,
            "resource": fr.resource,
            **_quota_amounts(node, fr, pools),
        }
        for node, depth in nodes
        for fr in sorted(node.cells)
        if node.cells[fr].defined
    ]


def share_rows(nodes: Iterable[TreeNode]) -> list[Row]:
    """Return for each node its weight and its share, in thousandths as Kueue reports it."""
    return [_share_row(node, depth) for node, depth in nodes]


def quota_bar(cell: Cell, lent: int, width: int = _WIDTH) -> str:
    """Draw a quota: used of its own, lent and free, then what is borrowed beyond it.

    The whole width is the quota, or the usage if that is more.
    """
    total = max(cell.subtree_quota, cell.usage, 1)
    own = min(cell.usage, cell.subtree_quota)
    borrowed = min(lent, cell.subtree_quota - own)
    edges = [amount * width // total for amount in (own, own + borrowed, cell.subtree_quota)]
    used, to, end = (min(width, edge) for edge in edges)
    return "█" * used + "▒" * (to - used) + "░" * (end - to) + "▓" * (width - end)


def _walk_subtree(node: Node, depth: int) -> Iterator[TreeNode]:
    yield TreeNode(node, depth)
    for child in node.children:
        yield from _walk_subtree(child, depth + 1)


def _quota_amounts(node: Node, fr: FlavorResource, pools: _LendingPools) -> Row:
    cell = node.cells[fr]
    lent = pools.lent_quota(node, fr)
    amounts = {
        "nominal": cell.nominal,
        "quota": cell.subtree_quota,
        "used": cell.usage,
        "borrowed": borrowed_quota(node, fr),
        "lent": lent,
    }
    drawn = quota_bar(cell, lent) if cell.subtree_quota < UNLIMITED else "unlimited"
    return {name: quantity_text(fr.resource, units) for name, units in amounts.items()} | {
        "bar": drawn
    }


def borrowed_quota(node: Node, fr: FlavorResource) -> int:
    """Return how much more a node uses than its subtree has; a root cannot borrow."""
    cell = node.cells.get(fr)
    if cell is None or node.parent is None:
        return 0
    return max(0, cell.usage - cell.subtree_quota)


class _LendingPools:
    """Quota that a Cohort's children borrow of each other: summed once, not for each of them."""

    def __init__(self) -> None:
        self._pools = dict[tuple[int, FlavorResource], tuple[int, int]]()

    def lent_quota(self, node: Node, fr: FlavorResource) -> int:
        """Return how much of a node's own quota is used by its siblings.

        The siblings borrow from nodes with unused quota that they may lend, from each in proportion
        to that; the division rounds down.
        """
        cell = node.cells.get(fr)
        if cell is None or node.parent is None:
            return 0
        key = id(node.parent), fr
        if key not in self._pools:
            self._pools[key] = _lending_pool(node.parent, fr)
        pool, required = self._pools[key]
        return _unused_lendable(cell) * min(required, pool) // pool if pool else 0


def _lending_pool(parent: Node, fr: FlavorResource) -> tuple[int, int]:
    """Return what a Cohort's children may lend with what is its own, and what they borrow."""
    pool = sum(_unused_lendable(child.cells[fr]) for child in parent.children if fr in child.cells)
    at = parent.cells.get(fr)
    pool += 0 if at is None else max(0, at.nominal)
    return pool, sum(borrowed_quota(child, fr) for child in parent.children)


def quantity_text(resource: str, units: int) -> str:
    """Return an amount as Kubernetes writes it."""
    return "unlimited" if units >= UNLIMITED else format_quantity(resource, units)


def _unused_lendable(cell: Cell) -> int:
    return max(0, cell.subtree_quota - max(cell.usage, cell.local_quota))


def _share_row(node: Node, depth: int) -> Row:
    fair_share = dominant_share(node)
    return {
        "name": node.name,
        "kind": _kind(node),
        "depth": depth,
        "parent": "" if node.parent is None else node.parent.name,
        "weight": _weight_text(node.weight),
        "share": fair_share.rounded() if node.parent is not None else None,
        "precise": fair_share.precise(),
        "resource": fair_share.resource,
        "borrowing": fair_share.borrowing,
    }


def _weight_text(weight: int) -> str:
    whole, rest = divmod(weight, WEIGHT_ONE)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def _kind(node: Node) -> str:
    return "Cohort" if node.is_cohort else "ClusterQueue"
