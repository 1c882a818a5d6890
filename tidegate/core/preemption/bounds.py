"""How much evictions could give at most: sums in place of a search that would find nobody.

What a workload may evict in its own ClusterQueue, and in those that borrow, is known by priority
without looking at any workload. Where even all of it is too little, nobody is searched for. Each
bound is what the search of ``classic`` or ``fair`` could take if every single victim helped.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tidegate.core.preemption.trial import is_displaced, takes_more
from tidegate.core.quota.shares import Share, borrows, share
from tidegate.core.quota.tree import Cell, Node, free, kept_free
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

_ANY = 1 << 40  # above every priority
_Sums = dict[int, int]
"""What is held of one flavor-resource, by priority."""


class Asking(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Who would evict others, and for lack of what."""

    cq: ClusterQueueState
    workload: Workload
    needs: tuple[FlavorResource, ...]
    """Victims are sought in ClusterQueues that borrow one of these."""


def may_suffice(state: State, asking: Asking, cell: Cell, units: int) -> bool:
    """Tell whether an amount might fit once everybody had left who may be evicted for it.

    To be asked while the tree is as the cycle shows it to all; costs O(depth), under fair sharing
    also the children of each ancestor, once the sums of the tree are known. What may suffice for
    an amount may suffice for every smaller one.
    """
    cq, workload = asking.cq, asking.workload
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
    return lacking <= given(asking, cell, units, own)


def _given_classic(asking: Asking, cell: Cell, units: int, own: int) -> int:
    """Return what other ClusterQueues could give, as ``tidegate.core.preemption.classic`` asks.

    Whoever stays within its own quota may take from all that borrow. Who borrows itself takes from
    those beside a node that has a claim, and else by ``borrowWithinCohort``.
    """
    cq, workload = asking.cq, asking.workload
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
            above = _borrowed(asking, parent, cell.fr)
            below = _borrowed(asking, node, cell.fr)
            found += _below(above, most) - _below(below, most)
    return found


def _given_fairly(asking: Asking, cell: Cell, units: int, own: int) -> int:
    """Return what other ClusterQueues could give, as ``tidegate.core.preemption.fair`` asks.

    Whoever stays within its own quota may take from all that borrow, others from those whose share,
    at the lowest common cohort, is not below the least that the preemptor's side could have: once
    all that may be evicted there has left.
    """
    cq, workload = asking.cq, asking.workload
    limit = _limit(workload, cq.spec.preemption.reclaim_within_cohort)
    within = cell.usage + units <= cell.quota
    found, fr = 0, cell.fr
    gone = {} if within or not own else _own(cq, workload)
    for node, parent, remaining in _upwards(cq.node, fr, units):
        least = None
        if not within:
            least = share(node, {**gone, fr: gone.get(fr, 0) + remaining})
        for child in parent.children:
            most = 0 if child is node else _below(_borrowed(asking, child, fr), limit)
            if most and (least is None or _may_give(cq.tree, child, least)):
                found += most
                if least is not None:
                    _take(asking, gone, child, limit)
    return found


def _own(cq: ClusterQueueState, workload: Workload) -> dict[FlavorResource, int]:
    """Return what a workload may evict in its own ClusterQueue, negated."""
    limit = _limit(workload, cq.spec.preemption.within_cluster_queue)
    return {fr: -_below(held, limit) for fr, held in cq.held.items()}


def _may_give(tree: Tree, child: Node, least: Share) -> bool:
    """Tell whether a node's share is not below another's; a cohort that borrows nothing is safe."""
    if child.is_cohort and not borrows(child):
        return False
    now = tree.shares.get(id(child))
    if now is None:
        now = tree.shares[id(child)] = share(child)
    return least <= now


def _take(asking: Asking, gone: dict[FlavorResource, int], child: Node, limit: int) -> None:
    """Add to what could leave, negated, what may be evicted below a node."""
    for fr in child.cells:
        if most := _below(_borrowed(asking, child, fr), limit):
            gone[fr] = gone.get(fr, 0) - most


def _upwards(node: Node, fr: FlavorResource, units: int) -> Iterator[tuple[Node, Node, int]]:
    """Yield each node below a parent on the way to the root, and what of an amount reaches it."""
    while node.parent is not None:
        yield node, node.parent, units
        units = max(0, units - kept_free(node.cells[fr]))
        node = node.parent


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


def _borrowed(asking: Asking, node: Node, fr: FlavorResource) -> _Sums:
    """Return what is held below a node by priority in all ClusterQueues that borrow what counts."""
    tree = asking.cq.tree
    if tree.sums_at != tree.stamp:
        tree.sums, tree.shares, tree.sums_at = {}, {}, tree.stamp
    found = tree.sums.get((id(node), fr, asking.needs))
    if found is None:
        found = tree.sums[id(node), fr, asking.needs] = {}
        for child in node.children:
            for at, units in _borrowed(asking, child, fr).items():
                found[at] = found.get(at, 0) + units
        if not node.is_cohort and takes_more(cq := tree.by_node[id(node)], asking.needs):
            found.update(cq.held.get(fr, {}))
    return found
