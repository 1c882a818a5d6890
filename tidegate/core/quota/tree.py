"""Quota in a cohort tree: one cell for each node and flavor-resource, changed in place.

A cell's usage depends only on the usage of the cells below it, so a trial is undone by shifting the
same cells back, in any order, and never needs a copy.

Source: behaviour.md 4; conformance/quota.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import UNLIMITED
from tidegate.model.quota import WEIGHT_ONE

INFINITE = 1 << 80
"""``UNLIMITED`` inside the tree: so large that no usage brings it near a real amount."""

_HALF = INFINITE >> 1


class Cell(msgspec.Struct, kw_only=True, eq=False):
    """Quota and usage of one flavor-resource at one node, in base units."""

    fr: FlavorResource
    parent: Cell | None
    height: int  # of the node: 0 for a ClusterQueue, 1 for a cohort of ClusterQueues
    nominal: int = 0  # the node's own nominal quota
    lending: int | None = None  # lendingLimit; None: all may be lent
    borrowing: int | None = None  # borrowingLimit; None: no limit
    defined: bool = False  # quota of it is defined at the node or below
    subtree_quota: int = 0  # the node's own, and what its children lend
    local_quota: int = 0  # the part of ``subtree_quota`` that the node does not lend
    potential: int = 0  # the most that could ever be available at the node
    usage: int = 0  # its own, and its children's beyond their ``local_quota``


class Node(msgspec.Struct, kw_only=True, eq=False):
    """A ClusterQueue or a cohort."""

    name: str
    is_cohort: bool
    weight: int = WEIGHT_ONE  # fair-sharing weight in 1e-9
    parent: Node | None = None
    children: list[Node] = []  # cohorts, then ClusterQueues, each in name order
    height: int = 0
    version: int = 0  # rises when usage at or below it, or the workloads that have it, may change
    cells: dict[FlavorResource, Cell] = {}
    lendable: dict[str, int] = {}  # resource to the most that its parent could ever have available


def root_of(node: Node) -> Node:
    """Return the root of a node's tree."""
    while node.parent is not None:
        node = node.parent
    return node


def node_and_ancestors(node: Node) -> list[Node]:
    """Return a node, its parent and so on, up to the root."""
    nodes = [node]
    while nodes[-1].parent is not None:
        nodes.append(nodes[-1].parent)
    return nodes


def compute_quota(cell: Cell, lent: int) -> None:
    """Compute a cell's quota and its local part, from its own and what its children lend."""
    cell.subtree_quota = min(INFINITE, cell.nominal + lent)
    if cell.lending is None or cell.parent is None:
        cell.local_quota = 0
    elif cell.subtree_quota >= _HALF:
        cell.local_quota = INFINITE if cell.lending < _HALF else 0
    else:
        cell.local_quota = max(0, cell.subtree_quota - cell.lending)


def compute_potential(cell: Cell) -> None:
    """Compute the most that could ever be available at a cell; its parent's must be known."""
    if cell.parent is None:
        cell.potential = cell.subtree_quota
        return
    most = cell.local_quota + cell.parent.potential
    if cell.borrowing is not None:
        most = min(most, cell.subtree_quota + cell.borrowing)
    cell.potential = min(INFINITE, most)


def cell_available(cell: Cell) -> int:
    """Return the unused amount at a cell, including what it may borrow; may be negative.

    Walks to the root: O(depth). Changes nothing.
    """
    parent = cell.parent
    if parent is None:
        return cell.subtree_quota - cell.usage
    beyond = cell.usage - cell.local_quota
    number = (
        cell_available(parent) if parent.parent is not None else parent.subtree_quota - parent.usage
    )
    if cell.borrowing is not None:
        most = cell.subtree_quota - cell.local_quota + cell.borrowing
        most -= beyond if beyond > 0 else 0  # noqa: FURB136 - the hottest line
        number = min(number, most)
    return number - beyond if beyond < 0 else number


def shift_usage(cell: Cell, delta: int) -> None:
    """Change a cell's usage by ``delta``, and its ancestors' by what exceeds local quota."""
    at: Cell | None = cell
    while at is not None and delta:
        before = at.usage - at.local_quota
        after = before + delta
        at.usage += delta
        delta = (after if after > 0 else 0) - (before if before > 0 else 0)  # noqa: FURB136 - the hottest line
        at = at.parent


def parent_usage_delta(
    node: Node, amounts: Mapping[FlavorResource, int]
) -> dict[FlavorResource, int]:
    """Return by how much a parent's usage rises if a node used ``amounts`` more.

    Changes nothing.
    """
    borrowed: dict[FlavorResource, int] = {}
    for fr, amount in amounts.items():
        cell = node.cells.get(fr) or cell_of(node, fr)
        before = cell.usage - cell.local_quota
        after = before + amount
        borrowed[fr] = (after if after > 0 else 0) - (before if before > 0 else 0)  # noqa: FURB136
    return borrowed


def cell_below_root(cell: Cell) -> Cell:
    """Return the cell, at the root's child, of the subtree that a cell is in; a root's own cell."""
    while cell.parent is not None and cell.parent.parent is not None:
        cell = cell.parent
    return cell


def local_available(cell: Cell) -> int:
    """Return the unused part of the quota that a node does not lend."""
    unused = cell.local_quota - cell.usage
    return unused if unused > 0 else 0  # noqa: FURB136 - hot


def lowest_fitting_height(cell: Cell, amount: int) -> tuple[int, bool]:
    """Return the height of the smallest subtree that fits ``amount``, and if it has a parent.

    0 is the ClusterQueue's own quota; the root's height if the amount does not even fit there.

    Source: behaviour.md 4, FindHeightOfLowestSubtreeThatFits.
    """
    parent = cell.parent
    if parent is None or cell.usage + amount <= cell.subtree_quota:
        return 0, parent is not None
    remaining = amount - local_available(cell)
    at = parent
    while at.usage + remaining > at.subtree_quota:
        remaining -= local_available(at)
        if at.parent is None:
            return at.height, False
        at = at.parent
    return at.height, at.parent is not None


def infinite_to_unlimited(amount: int) -> int:
    """Return an amount of the tree for reports: ``UNLIMITED`` for infinite ones."""
    return UNLIMITED if amount >= _HALF else amount


def unlimited_to_infinite(amount: int) -> int:
    """Return a quota as an amount of the tree; the inverse of ``infinite_to_unlimited``."""
    return INFINITE if amount >= UNLIMITED else amount


def available(node: Node, fr: FlavorResource) -> int:
    """Return the unused amount of one flavor-resource at a node; may be negative."""
    return infinite_to_unlimited(cell_available(cell_of(node, fr)))


def add_usage(node: Node, amounts: Iterable[tuple[FlavorResource, int]]) -> None:
    """Add usage to a ClusterQueue, given as pairs."""
    cells = node.cells
    for fr, amount in amounts:
        shift_usage(cells.get(fr) or cell_of(node, fr), amount)


def remove_usage(node: Node, amounts: Iterable[tuple[FlavorResource, int]]) -> None:
    """Subtract usage from a ClusterQueue, given as pairs."""
    cells = node.cells
    for fr, amount in amounts:
        shift_usage(cells.get(fr) or cell_of(node, fr), -amount)


def fits(node: Node, amounts: Iterable[tuple[FlavorResource, int]]) -> bool:
    """Tell whether each amount fits into a ClusterQueue's unused quota; 0 always fits."""
    cells = node.cells
    for fr, amount in amounts:
        if amount > 0 and amount > cell_available(cells.get(fr) or cell_of(node, fr)):
            return False
    return True


def cell_of(node: Node, fr: FlavorResource) -> Cell:
    """Return a node's cell; creates it up to the root, without quota, if missing."""
    cell = node.cells.get(fr)
    if cell is None:
        above = None if node.parent is None else cell_of(node.parent, fr)
        cell = Cell(fr=fr, parent=above, height=node.height)
        compute_quota(cell, 0)
        compute_potential(cell)
        node.cells[fr] = cell
    return cell
