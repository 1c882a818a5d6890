"""How much of a constraint's amount is available, now and after evictions, and for how long not.

A constraint is on a ClusterQueue's cell, or on a topology's capacity. For a cell, sums bound what
evictions could free (``bounds``); for capacity, the nodes without all candidates do.

A workload that may not preempt in order to borrow gets an amount only once as much is free. Under
fair sharing it also may once another side of the root has a greater share than its own would be.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.core.preemption.bounds import (
    Preemptor,
    may_fit_after_evictions,
)
from tidegate.core.preemption.candidates import priority_limit
from tidegate.core.preemption.sums import greatest_rank
from tidegate.core.preemption.trial import is_queue_borrowing, never_preempts
from tidegate.core.quota.tree import Cell, Node, cell_available
from tidegate.core.state.cluster_queues import ClusterQueueState, Shortfall
from tidegate.core.state.state import State
from tidegate.core.topology.capacity import Capacity, fitting_slices, slices_without_candidates
from tidegate.core.topology.evictable import Limits
from tidegate.model.ids import FlavorResource


def unused_amount(state: State, at: Cell | Capacity) -> int:
    """Return the amount that is unused now, as the cycle shows it; may be negative."""
    return (
        fitting_slices(state.forest.topologies, at)
        if isinstance(at, Capacity)
        else cell_available(at)
    )


def may_become_available(preemptor: Preemptor, at: Cell | Capacity, units: int) -> bool:
    """Tell whether an amount may fit after all evictions that a preemptor's rights allow.

    Call it while trees and nodes are as the cycle shows them to all entries.
    """
    if not isinstance(at, Capacity):
        return may_fit_after_evictions(preemptor, at, units)
    if not preemptor.cq.tree.in_cycle or units <= unused_amount(preemptor.state, at):
        return True
    if at.empty or not _may_have_candidates(preemptor):
        return False
    return units <= slices_without_candidates(
        preemptor.state.forest.topologies, at, _priority_limits(preemptor)
    )


def _priority_limits(preemptor: Preemptor) -> Limits:
    """Return the priorities below which a preemptor may evict, other rules left out."""
    cq, rules = preemptor.cq, preemptor.cq.spec.preemption
    alone = cq.node.parent is None or preemptor.rights.displaced
    others = "Never" if alone else rules.reclaim_within_cohort
    return Limits(
        cluster_queue=cq.name,
        own=priority_limit(preemptor.rights.priority, rules.within_cluster_queue),
        others=priority_limit(preemptor.rights.priority, others),
    )


def _may_have_candidates(preemptor: Preemptor) -> bool:
    """Tell whether a preemptor may have any candidate. Costs O(ClusterQueues of the tree)."""
    cq, rights = preemptor.cq, preemptor.rights
    rules = cq.spec.preemption
    if never_preempts(preemptor.state, rights.never):
        return False
    if _has_lower_priority(
        cq.counts_by_priority, priority_limit(rights.priority, rules.within_cluster_queue)
    ):
        return True
    if cq.node.parent is None or rules.reclaim_within_cohort == "Never" or rights.displaced:
        return False
    limit = priority_limit(rights.priority, rules.reclaim_within_cohort)
    return any(
        other is not cq
        and _has_lower_priority(other.counts_by_priority, limit)
        and is_queue_borrowing(other, rights.needs)
        for other in cq.tree.cluster_queues
    )


def _has_lower_priority(counted: Mapping[int, int], limit: int) -> bool:
    return any(priority < limit for priority in counted)


def version_below_root(node: Node) -> int:
    """Return a number that rises with each change on a ClusterQueue's path, except at the root."""
    number = node.version
    while node.parent is not None and node.parent.parent is not None:
        node = node.parent
        number += node.version
    return number


def lack_at_root(preemptor: Preemptor, at: Cell | Capacity) -> Shortfall | None:
    """Return what must change at the root before an amount may become available.

    ``may_become_available`` must just have said of it that it may not. None: not only the root. The
    result holds until ``version_below_root`` changes.
    """
    if isinstance(at, Capacity):
        return None
    span = preemptor.cq.tree.spans.get((id(at), preemptor.rights))
    return None if span is None else span.shortfall


def may_reclaim_at_root(
    cq: ClusterQueueState, rank: int, needs: tuple[FlavorResource, ...]
) -> bool:
    """Tell whether another child of the root keeps a share without a workload of some needs."""
    node, root = cq.node, cq.tree.root
    while node.parent is not None and node.parent is not root:
        node = node.parent
    return rank <= greatest_rank(cq.tree, root, node, needs)
