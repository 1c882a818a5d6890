"""Cached sums of usage below each node, by priority and by the share after one eviction.

They hold for the tree as a cycle shows it, until something changes at or below the node. A change
invalidates only the nodes on the path of the ClusterQueue that changed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from tidegate.core.members.cluster_status import execution_cluster
from tidegate.core.preemption.trial import is_queue_borrowing, is_within_quota
from tidegate.core.quota.shares import Share, dominant_share, is_borrowing, removable_usage
from tidegate.core.quota.tree import Node, parent_usage_delta
from tidegate.core.state.cluster_queues import (
    ClusterQueueState,
    NodeSums,
    RankedCandidates,
    Releases,
    Tree,
)
from tidegate.core.state.state import Workload
from tidegate.model.ids import FlavorResource


def node_sums(tree: Tree, node: Node) -> NodeSums:
    """Return the cached sums of a node; new ones with only its share if it has changed."""
    cached = tree.node_sums.get(id(node))
    if cached is None or cached.version != node.version:
        cached = NodeSums(
            version=node.version, share=dominant_share(node), borrows=is_borrowing(node)
        )
        tree.node_sums[id(node)] = cached
    return cached


def borrowed_by_priority(
    tree: Tree,
    node: Node,
    fr: FlavorResource,
    needs: tuple[FlavorResource, ...],
    *,
    cohorts: bool,
) -> dict[int, int]:
    """Return usage below a node, by priority, of ClusterQueues that borrow one of ``needs``.

    ``cohorts``: leaves out what is below cohorts that do not borrow one, except the node itself.
    """
    sums = node_sums(tree, node).sums
    sums_by_need = sums.get((fr, needs, cohorts))
    if sums_by_need is None:
        sums_by_need = sums[fr, needs, cohorts] = _borrowing_queue_usage(tree, node, fr, needs)
        for child in node.children:
            if cohorts and is_within_quota(child, needs):
                continue
            for at, units in borrowed_by_priority(tree, child, fr, needs, cohorts=cohorts).items():
                sums_by_need[at] = sums_by_need.get(at, 0) + units
    return sums_by_need


def _borrowing_queue_usage(
    tree: Tree, node: Node, fr: FlavorResource, needs: tuple[FlavorResource, ...]
) -> dict[int, int]:
    if node.is_cohort or not is_queue_borrowing(cq := tree.by_node[id(node)], needs):
        return {}
    return dict(cq.usage_by_priority.get(fr, {}))


def children_with_share(
    tree: Tree, parent: Node, node: Node, needs: tuple[FlavorResource, ...], least: Share
) -> list[Node]:
    """Return a cohort's other children that keep at least a share without one of their workloads.

    Only workloads that use one of ``needs`` count; cohorts that borrow nothing are left out.
    """
    nodes: list[Node] = []
    for most, child in _children_by_rank(tree, parent, needs):
        if most < least.rank:
            break
        if child is not node:
            nodes.append(child)
    return nodes


def greatest_rank(tree: Tree, parent: Node, node: Node, needs: tuple[FlavorResource, ...]) -> int:
    """Return the rank of the greatest share that another child keeps without a workload; or -1."""
    ranked = _children_by_rank(tree, parent, needs)
    return next((most for most, child in ranked if child is not node), -1)


def _children_by_rank(
    tree: Tree, parent: Node, needs: tuple[FlavorResource, ...]
) -> list[tuple[int, Node]]:
    ranked = node_sums(tree, parent).ranked
    children = ranked.get(needs)
    if children is None:
        each = [
            (-ranks[0], child)
            for child in parent.children
            if (node_sums(tree, child).borrows or not child.is_cohort)
            and (ranks := evictable_workloads(tree, child, needs).ranks)
        ]
        children = ranked[needs] = sorted(each, key=itemgetter(0), reverse=True)
    return children


def evictable_workloads(
    tree: Tree, node: Node, needs: tuple[FlavorResource, ...]
) -> RankedCandidates:
    """Return workloads below a node without which their queue still uses its quota of ``needs``.

    It must do so for one of ``needs``. Each is tested alone: a second eviction frees less.
    """
    cached = node_sums(tree, node).leavers
    result = cached.get(needs)
    if result is None:
        each = sorted(_evictable_ranks(tree, node, needs), key=itemgetter(0))
        result = cached[needs] = RankedCandidates(
            ranks=[rank for rank, _ in each], workloads=[workload for _, workload in each], freed={}
        )
    return result


def evictable_with_charges(
    tree: Tree, node: Node, needs: tuple[FlavorResource, ...], least: Share
) -> tuple[list[Workload], dict[FlavorResource, int]]:
    """Return ``leavers`` that each keep a node at least a share, and all their charges, negated."""
    able = evictable_workloads(tree, node, needs)
    end = bisect_right(able.ranks, -least.rank)
    gone = able.freed.get(end)
    if gone is None:
        gone = able.freed[end] = {}
        for workload in able.workloads[:end]:
            for fr, units in workload.charges:
                gone[fr] = gone.get(fr, 0) - units
    return able.workloads[:end], gone


def usage_below(tree: Tree, cq: ClusterQueueState, limit: int) -> dict[FlavorResource, int]:
    """Return the usage of a ClusterQueue's workloads below a priority, negated."""
    own = node_sums(tree, cq.node).own
    cached = own.get(limit)
    if cached is None:
        generator = (
            (fr, sum(units for at, units in sums.items() if at < limit))
            for fr, sums in cq.usage_by_priority.items()
        )
        cached = own[limit] = {fr: -units for fr, units in generator if units}
    return cached


def releasable_amount(tree: Tree, node: Node, fr: FlavorResource, least: Share, limit: int) -> int:
    """Return how much evictions below a node could free together, of priorities below a limit.

    Each eviction alone must leave the node at least a share, and its queue all of its quota in use.
    """
    at = node_sums(tree, node)
    releases = at.releases.get((fr, limit))
    if releases is None:
        releases = at.releases[fr, limit] = _compute_releases(tree, node, fr, limit)
    total = releases.units[bisect_right(releases.ranks, -least.rank)]
    return (
        min(total, removable_usage(node, fr, least))
        if total and _passes_all_usage(node, fr)
        else total
    )


def _compute_releases(tree: Tree, node: Node, fr: FlavorResource, limit: int) -> Releases:
    each = [
        (-rank, units, cq)
        for cq in _queues_below(tree, node)
        for rank, units in _queue_releases(tree, node, cq, fr, limit)
    ]
    each.sort(key=itemgetter(0))
    total, totals, remaining = 0, [0], dict[int, int]()
    for _, units, cq in each:
        over = remaining.get(id(cq))
        if over is None:
            over = max(0, cq.node.cells[fr].usage - cq.node.cells[fr].subtree_quota)
        amount = min(units, over)
        remaining[id(cq)] = over - amount
        total += amount
        totals.append(total)
    return Releases(ranks=[rank for rank, _, _ in each], units=totals)


def _evictable_ranks(
    tree: Tree, node: Node, needs: tuple[FlavorResource, ...]
) -> Iterator[tuple[int, Workload]]:
    """Yield the negated rank of the node's share without each leaver, and the leaver."""
    ranks = node_sums(tree, node).left
    for cq in _queues_below(tree, node):
        if not is_queue_borrowing(cq, needs):
            continue
        cells = cq.node.cells
        over = {fr: cells[fr].usage - cells[fr].subtree_quota for fr in needs if fr in cells}
        for workload in cq.holding.values():
            if workload.phase == "evicting":
                continue
            for fr, units in workload.charges:
                if fr in over and (units <= over[fr] or not units):
                    yield -_rank_without(ranks, node, cq, workload), workload
                    break


def _queue_releases(
    tree: Tree, node: Node, cq: ClusterQueueState, fr: FlavorResource, limit: int
) -> Iterator[tuple[int, int]]:
    """Yield the rank of a node's share without each of a ClusterQueue's workloads, and its amount.

    Only workloads below a priority without which the ClusterQueue still uses all of its quota of
    the flavor-resource. A search tries the lowest priority first, and last in it a workload that
    would leave a gap in that quota. It takes none of a higher priority in place of such a workload
    (``fair``), unless that is no candidate.
    """
    cell = cq.node.cells.get(fr)
    if cell is None:
        return
    over = cell.usage - cell.subtree_quota
    amounts = [
        (workload, units)
        for workload in cq.holding.values()
        if workload.priority < limit and workload.phase != "evicting"
        for of, units in workload.charges
        if of == fr
    ]
    if not cq.spec.min_runtime_us and not cq.spec.usage_based_admission:
        gaps = (
            at.priority
            for at, units in amounts
            if units > over and units and not execution_cluster(at)
        )
        limit = min(gaps, default=limit)
    ranks = node_sums(tree, node).left
    for workload, units in amounts:
        if workload.priority <= limit and (units <= over or not units):
            yield _rank_without(ranks, node, cq, workload), units


def _rank_without(
    ranks: dict[str, int], node: Node, cq: ClusterQueueState, workload: Workload
) -> int:
    rank = ranks.get(workload.key)
    if rank is None:
        rank = ranks[workload.key] = dominant_share(
            node, _usage_delta(cq.node, node, workload)
        ).rank
    return rank


def _passes_all_usage(node: Node, fr: FlavorResource) -> bool:
    """Tell whether all that borrowing queues below a node free reaches it: no cohort keeps it."""
    for child in node.children:
        cell = child.cells.get(fr) if child.is_cohort else None
        if cell is not None and (cell.local_quota or not _passes_all_usage(child, fr)):
            return False
    return True


def _queues_below(tree: Tree, node: Node) -> Iterator[ClusterQueueState]:
    if not node.is_cohort:
        yield tree.by_node[id(node)]
    for child in node.children:
        yield from _queues_below(tree, child)


def _usage_delta(at: Node, node: Node, gone: Workload) -> dict[FlavorResource, int]:
    """Return by how much an ancestor's usage would fall without a workload, negated."""
    amounts: dict[FlavorResource, int] = {}
    for fr, units in gone.charges:
        amounts[fr] = amounts.get(fr, 0) - units
    while at is not node:
        amounts = parent_usage_delta(at, amounts)
        assert at.parent is not None, "the node is an ancestor"
        at = at.parent
    return amounts
