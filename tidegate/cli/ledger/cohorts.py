"""The cohort trees of a folded ledger as rows: quota, usage, what is borrowed and lent, shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from tidegate.core.quota.forest import forest
from tidegate.core.quota.shares import share
from tidegate.core.quota.tree import Cell, Node
from tidegate.core.state.state import State
from tidegate.errors import UnknownNameError
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import UNLIMITED, render
from tidegate.model.quota import WEIGHT_ONE

Row: TypeAlias = dict[str, Any]
_WIDTH = 20


class Placed(NamedTuple):
    """A node of a tree, and how deep it is in it; a root has depth 0."""

    node: Node
    depth: int


def nodes_of(states: Sequence[State], name: str = "") -> list[Placed]:
    """Return the nodes of the trees of all partitions; of one tree if a node of it is named.

    Raises:
        UnknownNameError: nothing is called so.
    """
    if not name:
        return [placed for state in states for placed in nodes(state)]
    for state in states[:-1]:
        with suppress(UnknownNameError):
            return nodes(state, name)
    return nodes(states[-1], name)


def nodes(state: State, name: str = "") -> list[Placed]:
    """Return the nodes of all trees from their roots down; of one tree if a node of it is named.

    Raises:
        UnknownNameError: nothing is called so.
    """
    roots = [tree.root for tree in forest(state).trees]
    roots += [node for node in forest(state).cohorts.values() if node.parent is None]
    trees = [list(_down(root, 0)) for root in {id(root): root for root in roots}.values()]
    if not name:
        return [placed for tree in trees for placed in tree]
    for tree in trees:
        if any(placed.node.name == name for placed in tree):
            return tree
    raise UnknownNameError(
        f"There is no ClusterQueue and no Cohort {name!r}: see `tidegate show tree` for all, or "
        "name a workload as job/NAME."
    )


def tree_rows(placed: Iterable[Placed]) -> list[Row]:
    """Return for each node and flavor-resource its quota and usage."""
    pools = _Pools()
    return [
        {
            "name": node.name,
            "kind": _kind(node),
            "depth": depth,
            "parent": "" if node.parent is None else node.parent.name,
            "flavor": fr.flavor,
            "resource": fr.resource,
            **_amounts(node, fr, pools),
        }
        for node, depth in placed
        for fr in sorted(node.cells)
        if node.cells[fr].known
    ]


def share_rows(placed: Iterable[Placed]) -> list[Row]:
    """Return for each node its weight and its share, in thousandths as Kueue reports it."""
    return [_share(node, depth) for node, depth in placed]


def bar(cell: Cell, lent: int, width: int = _WIDTH) -> str:
    """Draw a quota: used of its own, lent and free, then what is borrowed beyond it.

    The whole width is the quota, or the usage if that is more.
    """
    total = max(cell.quota, cell.usage, 1)
    own = min(cell.usage, cell.quota)
    borrowed = min(lent, cell.quota - own)
    edges = [amount * width // total for amount in (own, own + borrowed, cell.quota)]
    used, to, end = (min(width, edge) for edge in edges)
    return "█" * used + "▒" * (to - used) + "░" * (end - to) + "▓" * (width - end)


def _down(node: Node, depth: int) -> Iterator[Placed]:
    yield Placed(node, depth)
    for child in node.children:
        yield from _down(child, depth + 1)


def _amounts(node: Node, fr: FlavorResource, pools: _Pools) -> Row:
    cell = node.cells[fr]
    lent = pools.lends(node, fr)
    amounts = {
        "nominal": cell.nominal,
        "quota": cell.quota,
        "used": cell.usage,
        "borrowed": borrows(node, fr),
        "lent": lent,
    }
    drawn = bar(cell, lent) if cell.quota < UNLIMITED else "unlimited"
    return {name: amount(fr.resource, units) for name, units in amounts.items()} | {"bar": drawn}


def borrows(node: Node, fr: FlavorResource) -> int:
    """Return how much more a node uses than its subtree has; a root cannot borrow."""
    cell = node.cells.get(fr)
    if cell is None or node.parent is None:
        return 0
    return max(0, cell.usage - cell.quota)


class _Pools:
    """Quota that a Cohort's children borrow of each other: summed once, not for each of them."""

    def __init__(self) -> None:
        self._pools = dict[tuple[int, FlavorResource], tuple[int, int]]()

    def lends(self, node: Node, fr: FlavorResource) -> int:
        """Return how much of a node's own quota is used by its siblings.

        The siblings borrow from nodes with unused quota that they may lend, from each in proportion
        to that; the division rounds down.
        """
        cell = node.cells.get(fr)
        if cell is None or node.parent is None:
            return 0
        key = id(node.parent), fr
        if key not in self._pools:
            self._pools[key] = _pool(node.parent, fr)
        pool, required = self._pools[key]
        return _spare(cell) * min(required, pool) // pool if pool else 0


def _pool(parent: Node, fr: FlavorResource) -> tuple[int, int]:
    """Return what a Cohort's children may lend with what is its own, and what they borrow."""
    pool = sum(_spare(child.cells[fr]) for child in parent.children if fr in child.cells)
    at = parent.cells.get(fr)
    pool += 0 if at is None else max(0, at.nominal)
    return pool, sum(borrows(child, fr) for child in parent.children)


def amount(resource: str, units: int) -> str:
    """Return an amount as Kubernetes writes it."""
    return "unlimited" if units >= UNLIMITED else render(resource, units)


def _spare(cell: Cell) -> int:
    return max(0, cell.quota - max(cell.usage, cell.local))


def _share(node: Node, depth: int) -> Row:
    fair_share = share(node)
    return {
        "name": node.name,
        "kind": _kind(node),
        "depth": depth,
        "parent": "" if node.parent is None else node.parent.name,
        "weight": _weight(node.weight),
        "share": fair_share.rounded() if node.parent is not None else None,
        "precise": fair_share.precise(),
        "resource": fair_share.resource,
        "borrowing": fair_share.borrowing,
    }


def _weight(weight: int) -> str:
    whole, rest = divmod(weight, WEIGHT_ONE)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def _kind(node: Node) -> str:
    return "Cohort" if node.is_cohort else "ClusterQueue"
