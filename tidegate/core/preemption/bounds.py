"""How much evictions could give at most: sums in place of a search that would find nobody.

What a workload may evict in its own ClusterQueue, and in those that borrow, is known by priority
without looking at any workload. Where even all of it is too little, nobody is searched for. Each
bound is what the search of ``classic`` or ``fair`` could take if every single victim helped.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tidegate.core.preemption.sums import (
    borrowed,
    giving,
    leaving,
    releasable,
    sums_of,
    usage_below,
)
from tidegate.core.preemption.trial import is_displaced, may_move_shares, within_quota
from tidegate.core.quota.shares import Share, share
from tidegate.core.quota.tree import Cell, Node, free, unused_guarantee
from tidegate.core.state.cluster_queues import ClusterQueueState, Span
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Rights
from tidegate.model.ids import FlavorResource

_ANY = 1 << 40  # above every priority
_Sums = dict[int, int]
"""What is held of one flavor-resource, by priority."""


class Preemptor(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Who would evict others, and for lack of what."""

    state: State
    cq: ClusterQueueState
    rights: Rights


def may_suffice(asking: Preemptor, cell: Cell, units: int) -> bool:
    """Tell whether an amount might fit once everybody had left who may be evicted for it.

    To be asked while the tree is as the cycle shows it to all. What may suffice for an amount may
    suffice for every smaller one, so what was found for one tells of others until the tree changes.
    """
    tree, rights = asking.cq.tree, asking.rights
    if not tree.in_cycle:
        return True  # by Kueue's rules who leaves is a candidate still, and counted nowhere
    unused = free(cell)
    if units <= unused:
        return True
    if rights.never and asking.state.policy.preemption_policy_never:
        return False
    if tree.spans_at != tree.stamp:
        tree.spans, tree.spans_at = {}, tree.stamp
    key = id(cell), rights
    span = tree.spans.get(key)
    if span is None:
        span = tree.spans[key] = Span()
    if span.enough < units < span.too_much:
        if _may_suffice(asking, cell, units, unused):
            span.enough = units
        else:
            span.too_much = units
    return units <= span.enough


def preemptor_of(
    state: State, cq: ClusterQueueState, workload: Workload, needs: tuple[FlavorResource, ...]
) -> Preemptor:
    """Return who would evict others, with what tells whom it may."""
    rights = Rights(
        priority=workload.priority,
        displaced=is_displaced(state, cq, workload),
        moves=not state.policy.fair_sharing or may_move_shares(state, cq, workload),
        never=workload.never_preempts,
        needs=needs,
    )
    return Preemptor(state=state, cq=cq, rights=rights)


def _may_suffice(asking: Preemptor, cell: Cell, units: int, unused: int) -> bool:
    """Tell the same of an amount of which too little is free.

    Costs O(depth), under fair sharing also the children of each ancestor, once the sums are known.
    """
    cq, rights = asking.cq, asking.rights
    limit = limit_of(rights.priority, cq.spec.preemption.within_cluster_queue)
    own = below(cq.usage_by_priority.get(cell.fr), limit)
    if not _may_borrow(cell, units - own):
        return False
    lacking = units - unused - own
    return lacking <= 0 or lacking <= _releasable(asking, cell, units, own)


def _may_borrow(cell: Cell, units: int) -> bool:
    """Tell whether a borrowing limit lets an amount in, whatever others leave."""
    if cell.borrowing is None or cell.parent is None:
        return True
    local_free = max(cell.local - cell.usage, 0)
    over = max(cell.usage - cell.local, 0)
    return units - local_free <= cell.quota - cell.local + cell.borrowing - over


def _releasable(asking: Preemptor, cell: Cell, units: int, own: int) -> int:
    """Return what other ClusterQueues could give."""
    state, cq = asking.state, asking.cq
    reclaim = cq.spec.preemption.reclaim_within_cohort
    if cell.parent is None or reclaim == "Never" or asking.rights.displaced:
        return 0
    if state.policy.fair_sharing:
        return _releasable_fairly(asking, cell, units)
    return _releasable_classic(asking, cell, units, own)


def _releasable_classic(asking: Preemptor, cell: Cell, units: int, own: int) -> int:
    """Return what other ClusterQueues could give, as ``tidegate.core.preemption.classic`` asks.

    Whoever stays within its own quota may take from all that borrow, unless a cohort of theirs on
    the way does not. Who borrows itself takes from those beside a node that has a claim, and else
    by ``borrowWithinCohort``.
    """
    cq, priority = asking.cq, asking.rights.priority
    limit = limit_of(priority, cq.spec.preemption.reclaim_within_cohort)
    within = cell.usage - own + units <= cell.quota
    lower = _borrowing_limit(cq, priority)
    number, claimed, needs = 0, False, asking.rights.needs
    for node, parent, remaining in upwards(cq.node, cell.fr, units):
        at = node.cells[cell.fr]
        claimed = claimed or at.quota - at.usage >= remaining
        most = limit if within or claimed else min(limit, lower)
        if most > -_ANY:
            number += below(borrowed(cq.tree, parent, cell.fr, needs, cohorts=True), most)
            if not within_quota(node, needs):
                number -= below(borrowed(cq.tree, node, cell.fr, needs, cohorts=True), most)
    return number


def _releasable_fairly(asking: Preemptor, cell: Cell, units: int) -> int:
    """Return what other ClusterQueues could give, as ``tidegate.core.preemption.fair`` asks.

    Whoever stays within its own quota may take from all that borrow, others from those who leave
    their side, at the lowest common cohort, no less than the least that the preemptor's side could
    have: once all that may be evicted there has left.
    """
    cq, rights, fr = asking.cq, asking.rights, cell.fr
    limit, needs = limit_of(rights.priority, cq.spec.preemption.reclaim_within_cohort), rights.needs
    if cell.usage + units <= cell.quota:
        everywhere = borrowed(cq.tree, cq.tree.root, fr, needs, cohorts=False)
        own = borrowed(cq.tree, cq.node, fr, needs, cohorts=False)
        return below(everywhere, limit) - below(own, limit)
    if not rights.moves:
        return 0
    number, gone = 0, own_losses(asking)
    for node, parent, remaining in upwards(cq.node, fr, units):
        if gone or giving(cq.tree, parent, node, needs, sums_of(cq.tree, node).share):
            least = share(node, {**gone, fr: gone.get(fr, 0) + remaining})
            others = giving(cq.tree, parent, node, needs, least)
            for child in others:
                number += releasable(cq.tree, child, fr, least, limit)
                if parent.parent is not None:
                    _take(asking, gone, child, least)
    return number


def givers(asking: Preemptor, amounts: dict[FlavorResource, int]) -> set[str]:
    """Return the ClusterQueues, the own one apart, of which somebody might leave for shares.

    Each for itself, for all that is asked for: of the others nobody has a share to give.
    """
    tree, names, gone, missing = asking.cq.tree, set[str](), own_losses(asking), dict(amounts)
    node = asking.cq.node
    while node.parent is not None:
        extra = {fr: gone.get(fr, 0) + missing.get(fr, 0) for fr in {**gone, **missing}}
        least = share(node, extra)
        for child in giving(tree, node.parent, node, asking.rights.needs, least):
            workloads = _take(asking, gone, child, least)
            names.update(workload.cluster_queue for workload in workloads)
        missing = {
            fr: max(0, units - unused_guarantee(node.cells[fr])) for fr, units in missing.items()
        }
        node = node.parent
    return names


def own_losses(asking: Preemptor) -> dict[FlavorResource, int]:
    """Return what a workload may evict in its own ClusterQueue, negated."""
    limit = limit_of(asking.rights.priority, asking.cq.spec.preemption.within_cluster_queue)
    return {} if limit == -_ANY else dict(usage_below(asking.cq.tree, asking.cq, limit))


def _take(
    asking: Preemptor, gone: dict[FlavorResource, int], child: Node, least: Share
) -> list[Workload]:
    """Add the usage of candidates below a node, negated, to what could leave; return them."""
    workloads, charges = leaving(asking.cq.tree, child, asking.rights.needs, least)
    for fr, units in charges.items():
        gone[fr] = gone.get(fr, 0) + units
    return workloads


def upwards(node: Node, fr: FlavorResource, units: int) -> Iterator[tuple[Node, Node, int]]:
    """Yield each node below a parent on the way to the root, and what of an amount reaches it."""
    while node.parent is not None:
        yield node, node.parent, units
        cell = node.cells[fr]
        if cell.local > cell.usage:
            units = max(0, units - unused_guarantee(cell))
        node = node.parent


def _borrowing_limit(cq: ClusterQueueState, priority: int) -> int:
    """Return below which priority ``borrowWithinCohort`` lets others be evicted."""
    rules = cq.spec.preemption
    if rules.borrow_within_cohort == "Never":
        return -_ANY
    most = rules.borrow_max_priority
    return priority if most is None else min(priority, most + 1)


def limit_of(priority: int, rule: str) -> int:
    """Return below which priority a policy lets others be evicted, by somebody of a priority.

    Of those of equal priority only some may be, perhaps.
    """
    match rule:
        case "Any":
            return _ANY
        case "LowerPriority":
            return priority
        case "LowerOrNewerEqualPriority":
            return priority + 1
        case _:
            return -_ANY


def below(sums: _Sums | None, limit: int) -> int:
    """Return what is held below a priority."""
    total = 0
    for at, units in sums.items() if sums else ():
        if at < limit:
            total += units
    return total
