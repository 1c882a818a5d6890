"""What is held below each node of a tree, by priority and by the share that a loss would leave.

Known as a cycle shows the tree, until something changes below the node: a change costs what is on
the path of who moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from tidegate.core.preemption.trial import takes_more, within_quota
from tidegate.core.quota.shares import Share, borrows, removable, share
from tidegate.core.quota.tree import Cell, Node, passed_on
from tidegate.core.state.cluster_queues import ClusterQueueState, Loss, Losses, NodeSums, Tree
from tidegate.core.state.state import Workload
from tidegate.model.ids import FlavorResource


def sums_of(tree: Tree, node: Node) -> NodeSums:
    """Return what is known of a node; nothing but its share if it has changed since."""
    cached = tree.node_sums.get(id(node))
    if cached is None or cached.version != node.version:
        cached = NodeSums(version=node.version, share=share(node), borrows=borrows(node))
        tree.node_sums[id(node)] = cached
    return cached


def borrowed(
    tree: Tree,
    node: Node,
    fr: FlavorResource,
    needs: tuple[FlavorResource, ...],
    *,
    cohorts: bool,
) -> dict[int, int]:
    """Return what is held below a node by priority in ClusterQueues that borrow of ``needs``.

    ``cohorts``: nothing below a cohort that does not borrow of them, too, the node itself apart.
    """
    sums = sums_of(tree, node).sums
    sums_by_need = sums.get((fr, needs, cohorts))
    if sums_by_need is None:
        sums_by_need = sums[fr, needs, cohorts] = _usage_of(tree, node, fr, needs)
        for child in node.children:
            if cohorts and within_quota(child, needs):
                continue
            for at, units in borrowed(tree, child, fr, needs, cohorts=cohorts).items():
                sums_by_need[at] = sums_by_need.get(at, 0) + units
    return sums_by_need


def _usage_of(
    tree: Tree, node: Node, fr: FlavorResource, needs: tuple[FlavorResource, ...]
) -> dict[int, int]:
    if node.is_cohort or not takes_more(cq := tree.by_node[id(node)], needs):
        return {}
    return dict(cq.usage_by_priority.get(fr, {}))


def giving(
    tree: Tree, parent: Node, node: Node, needs: tuple[FlavorResource, ...], least: Share
) -> list[Node]:
    """Return the other children of a cohort of which somebody could leave at least a share.

    Who holds some of ``needs`` alone counts; a cohort that borrows nothing is safe.
    """
    ranked = sums_of(tree, parent).ranked
    children = ranked.get(needs)
    if children is None:
        each = [
            (most, child)
            for child in parent.children
            if (sums_of(tree, child).borrows or not child.is_cohort)
            and (most := _most_left(tree, child, needs)) is not None
        ]
        children = ranked[needs] = sorted(each, key=itemgetter(0), reverse=True)
    nodes: list[Node] = []
    for most, child in children:
        if most < least:
            break
        if child is not node:
            nodes.append(child)
    return nodes


def _most_left(tree: Tree, node: Node, needs: tuple[FlavorResource, ...]) -> Share | None:
    """Return the greatest share that somebody's leaving leaves a node; None: nobody could leave."""
    most: Share | None = None
    for fr in needs:
        for of in _by_queue(tree, node, fr):
            if most is None or most < of.most:
                most = of.most
    return most


def usage_below(tree: Tree, cq: ClusterQueueState, limit: int) -> dict[FlavorResource, int]:
    """Return what is held in a ClusterQueue below a priority, negated."""
    own = sums_of(tree, cq.node).own
    cached = own.get(limit)
    if cached is None:
        generator = (
            (fr, sum(units for at, units in sums.items() if at < limit))
            for fr, sums in cq.usage_by_priority.items()
        )
        cached = own[limit] = {fr: -units for fr, units in generator if units}
    return cached


def losses(tree: Tree, node: Node, fr: FlavorResource, least: Share) -> Iterable[Loss]:
    """Return who could leave a node with at least a share, and its queue with all of its quota.

    Of a flavor-resource, each for itself: a second candidate that leaves frees less.
    """
    able = (of for of in _by_queue(tree, node, fr) if least <= of.most)
    return [loss for of in able for loss in of.each if least <= loss.share]


def releasable(tree: Tree, node: Node, fr: FlavorResource, least: Share, limit: int) -> int:
    """Return how much could leave a node so, all together, of priorities below a limit."""
    total = 0
    for of in _by_queue(tree, node, fr):
        if of.most < least:
            continue
        number = 0
        for loss in of.each:
            if loss.workload.priority < limit and least <= loss.share:
                number += loss.units
        total += min(number, of.borrowed)
    return min(total, removable(node, fr, least)) if total and _passes_on(node, fr) else total


def _by_queue(tree: Tree, node: Node, fr: FlavorResource) -> list[Losses]:
    at = sums_of(tree, node)
    losseses = at.losses.get(fr)
    if losseses is None:
        losseses = at.losses[fr] = list(_losses(tree, node, fr))
    return losseses


def _losses(tree: Tree, node: Node, fr: FlavorResource) -> Iterator[Losses]:
    for cq in _below(tree, node):
        cell = cq.node.cells.get(fr)
        if cell is None:
            continue
        each = list(_of_queue(node, cq, cell))
        if each:
            most = max(loss.share for loss in each)
            yield Losses(borrowed=max(0, cell.usage - cell.quota), each=each, most=most)


def _of_queue(node: Node, cq: ClusterQueueState, cell: Cell) -> Iterator[Loss]:
    for workload in cq.holding.values():
        charged = [units for fr, units in workload.charges if fr == cell.fr]
        if charged and workload.phase != "evicting" and _stays_over(cell, sum(charged)):
            portion = share(node, _usage_at(cq.node, node, workload))
            yield Loss(workload=workload, units=sum(charged), share=portion)


def _passes_on(node: Node, fr: FlavorResource) -> bool:
    """Tell whether a node sees all that a borrowing queue below it gives: no cohort keeps it."""
    for child in node.children:
        cell = child.cells.get(fr) if child.is_cohort else None
        if cell is not None and (cell.local or not _passes_on(child, fr)):
            return False
    return True


def _stays_over(cell: Cell, units: int) -> bool:
    """Tell whether a ClusterQueue uses all of its quota still without an amount."""
    return not units or cell.usage - units >= cell.quota


def _below(tree: Tree, node: Node) -> Iterator[ClusterQueueState]:
    if not node.is_cohort:
        yield tree.by_node[id(node)]
    for child in node.children:
        yield from _below(tree, child)


def _usage_at(at: Node, node: Node, gone: Workload) -> dict[FlavorResource, int]:
    """Return what an ancestor would see of a workload's leaving, negated."""
    amounts: dict[FlavorResource, int] = {}
    for fr, units in gone.charges:
        amounts[fr] = amounts.get(fr, 0) - units
    while at is not node:
        amounts = passed_on(at, amounts)
        assert at.parent is not None, "it is an ancestor"
        at = at.parent
    return amounts
