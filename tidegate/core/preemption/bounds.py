"""How much evictions could give at most: sums in place of a search that would find nobody.

What a workload may evict in its own ClusterQueue, and in those that borrow, is known by priority
without looking at any workload. Where even all of it is too little, nobody is searched for. Each
bound is what the search of ``classic`` or ``fair`` could take if every single victim helped.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.core.preemption.trial import is_displaced
from tidegate.core.quota.shares import Share, share
from tidegate.core.quota.tree import Cell, Node, free, kept_free
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource
from tidegate.model.quota import WEIGHT_ONE

_ANY = 1 << 40  # above every priority
_Sums = dict[int, int]
"""What is held of one flavor-resource, by priority."""


def may_suffice(
    state: State, cq: ClusterQueueState, workload: Workload, cell: Cell, units: int
) -> bool:
    """Tell whether an amount might fit once everybody had left who may be evicted for it.

    To be asked while the tree is as the cycle shows it to all; costs O(depth), under fair sharing
    also the children of each ancestor, once the sums of the tree are known. What may suffice for
    an amount may suffice for every smaller one.
    """
    if state.policy.compatibility == "kueue":
        return True  # there who leaves is a candidate still, and counted nowhere
    unused = free(cell)
    if units <= unused:
        return True
    if workload.never_preempts and state.policy.preemption_policy_never:
        return False
    rules = cq.spec.preemption
    own = _below(cq.held.get(cell.fr), _limit(workload, rules.within_cluster_queue))
    if cell.borrowing is not None and cell.parent is not None:
        kept = max(cell.local - cell.usage, 0)
        over = max(cell.usage - cell.local, 0)
        if units - own - kept > cell.quota - cell.local + cell.borrowing - over:
            return False
    lacking = units - unused - own
    if lacking <= 0:
        return True
    reclaim = rules.reclaim_within_cohort
    if cell.parent is None or reclaim == "Never" or is_displaced(state, cq, workload):
        return False
    given = _given_fairly if state.policy.fair_sharing else _given_classic
    return lacking <= given(cq, workload, cell, units, own)


def _given_classic(
    cq: ClusterQueueState, workload: Workload, cell: Cell, units: int, own: int
) -> int:
    """Return what other ClusterQueues could give, as ``tidegate.core.preemption.classic`` asks.

    Whoever stays within its own quota may take from all that borrow. Who borrows itself takes from
    those beside a node that has a claim, and else by ``borrowWithinCohort``.
    """
    rules = cq.spec.preemption
    limit = _limit(workload, rules.reclaim_within_cohort)
    within = cell.usage - own + units <= cell.quota
    lower = _borrowing_limit(cq, workload)
    found, claimed = 0, False
    for node, parent, remaining in _upwards(cq.node, cell.fr, units):
        at = node.cells[cell.fr]
        claimed = claimed or at.quota - at.usage >= remaining
        most = limit if within or claimed else min(limit, lower)
        if most > -_ANY:
            above, below = _borrowed(cq.tree, parent, cell.fr), _borrowed(cq.tree, node, cell.fr)
            found += _below(above, most) - _below(below, most)
    return found


def _given_fairly(
    cq: ClusterQueueState, workload: Workload, cell: Cell, units: int, own: int
) -> int:
    """Return what other ClusterQueues could give, as ``tidegate.core.preemption.fair`` asks.

    Whoever stays within its own quota may take from all that borrow, others from those whose share,
    at the lowest common cohort, is not below the least that the preemptor's side could have.
    """
    limit = _limit(workload, cq.spec.preemption.reclaim_within_cohort)
    within = cell.usage + units <= cell.quota
    found, removable = 0, own
    for node, parent, remaining in _upwards(cq.node, cell.fr, units):
        least = None if within else _least_share(node, cell.fr, remaining - removable)
        for child in parent.children:
            if child is not node and (sums := _borrowed(cq.tree, child, cell.fr)):
                most = _below(sums, limit)
                removable += most
                if most and (least is None or least <= share(child)):
                    found += most
    return found


def _upwards(node: Node, fr: FlavorResource, units: int) -> Iterator[tuple[Node, Node, int]]:
    """Yield each node below a parent on the way to the root, and what of an amount reaches it."""
    while node.parent is not None:
        yield node, node.parent, units
        units = max(0, units - kept_free(node.cells[fr]))
        node = node.parent


def _least_share(node: Node, fr: FlavorResource, more: int) -> Share:
    """Return a share that a node has at least with so much more in use of one flavor-resource."""
    cell, lent = node.cells[fr], node.lendable.get(fr.resource, 0)
    over = cell.usage + more - cell.quota
    if over <= 0 or lent <= 0 or not cell.known:
        return Share()
    return Share(
        over=over * WEIGHT_ONE,
        under=lent * (node.weight or WEIGHT_ONE),
        boundless=node.weight == 0,
    )


def _borrowing_limit(cq: ClusterQueueState, workload: Workload) -> int:
    """Return below which priority ``borrowWithinCohort`` lets others be evicted."""
    rules = cq.spec.preemption
    if rules.borrow_within_cohort == "Never":
        return -_ANY
    most = rules.borrow_max_priority
    return workload.priority if most is None else min(workload.priority, most + 1)


def _limit(workload: Workload, rule: str) -> int:
    """Return below which priority a policy lets others be evicted, those of equal one at most."""
    match rule:
        case "Any":
            return _ANY
        case "LowerPriority":
            return workload.priority
        case "LowerOrNewerEqualPriority":
            return workload.priority + 1
        case _:
            return -_ANY


def _below(sums: _Sums | None, limit: int) -> int:
    return sum(units for at, units in sums.items() if at < limit) if sums else 0


def _borrowed(tree: Tree, node: Node, fr: FlavorResource) -> _Sums:
    """Return what is held below a node by priority in all ClusterQueues that borrow anything."""
    if tree.sums_at != tree.stamp:
        tree.sums, tree.sums_at = {}, tree.stamp
    found = tree.sums.get((id(node), fr))
    if found is None:
        found = tree.sums[id(node), fr] = {}
        for child in node.children:
            for at, units in _borrowed(tree, child, fr).items():
                found[at] = found.get(at, 0) + units
        if not node.is_cohort and any(one.usage > one.quota for one in node.cells.values()):
            found.update(tree.by_node[id(node)].held.get(fr, {}))
    return found
