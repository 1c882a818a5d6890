"""Upper bounds for what evictions could free: sums that make a hopeless search unnecessary.

The usage that a workload may evict in its own ClusterQueue, and in those that borrow, is known by
priority without visiting workloads. Where even all of it is too little, no search runs. Each bound
is what the search of ``classic`` or ``fair`` could free if every single victim helped.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tidegate.core.preemption.candidates import ANY_PRIORITY, priority_limit
from tidegate.core.preemption.sums import (
    borrowed_by_priority,
    children_with_share,
    evictable_with_charges,
    node_sums,
    releasable_amount,
    usage_below,
)
from tidegate.core.preemption.trial import (
    is_displaced,
    is_within_quota,
    may_preempt_for_shares,
    never_preempts,
)
from tidegate.core.quota.shares import ZERO, Share, dominant_share
from tidegate.core.quota.tree import Cell, Node, cell_available, local_available
from tidegate.core.state.cluster_queues import ClusterQueueState, Shortfall, Span
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Rights
from tidegate.model.ids import FlavorResource

_Sums = dict[int, int]
"""Usage of one flavor-resource, by priority."""


class Preemptor(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A ClusterQueue that would evict for a workload with these rights."""

    state: State
    cq: ClusterQueueState
    rights: Rights


def may_fit_after_evictions(preemptor: Preemptor, cell: Cell, units: int) -> bool:
    """Tell whether an amount may fit into a cell after all evictions that the rights allow.

    Call it while the tree is as the cycle shows it to all entries. If an amount may fit, so may all
    smaller ones, so each result bounds other amounts until the tree changes.
    """
    tree, rights = preemptor.cq.tree, preemptor.rights
    if not tree.in_cycle:
        return True  # kueue mode: leaving workloads are candidates, too, and in no sum
    unused = cell_available(cell)
    if units <= unused:
        return True
    if never_preempts(preemptor.state, rights.never):
        return False
    if tree.spans_at != tree.stamp:
        tree.spans, tree.spans_at = {}, tree.stamp
    key = id(cell), rights
    span = tree.spans.get(key)
    if span is None:
        span = tree.spans[key] = Span()
    if span.enough < units < span.too_much:
        fits, shortfall = _compute_may_fit(preemptor, cell, units, unused)
        if fits:
            span.enough = units
        else:
            span.too_much, span.shortfall = units, shortfall
    return units <= span.enough


def preemptor_of(
    state: State, cq: ClusterQueueState, workload: Workload, needs: tuple[FlavorResource, ...]
) -> Preemptor:
    """Return a workload as a preemptor, with all that decides which workloads it may evict."""
    rights = Rights(
        priority=workload.priority,
        displaced=is_displaced(state, cq, workload),
        moves=not state.policy.fair_sharing or may_preempt_for_shares(state, cq, workload),
        fresh=not workload.displaced_seq,
        never=workload.never_preempts,
        needs=needs,
    )
    return Preemptor(state=state, cq=cq, rights=rights)


def _compute_may_fit(
    preemptor: Preemptor, cell: Cell, units: int, unused: int
) -> tuple[bool, Shortfall | None]:
    """Tell whether an amount of which less is unused may fit after evictions; if not, what lacks.

    Costs O(depth), with fair sharing also O(children of each ancestor), once sums are cached.
    """
    cq, rights = preemptor.cq, preemptor.rights
    limit = priority_limit(rights.priority, cq.spec.preemption.within_cluster_queue)
    own = usage_below_priority(cq.usage_by_priority.get(cell.fr), limit)
    if not _may_borrow(cell, units - own):
        return False, Shortfall(units=units, unused=units)
    lacking = units - unused - own
    if lacking <= 0:
        return True, None
    releasable, shortfall = _releasable_amount(preemptor, cell, units, own)
    return lacking <= releasable, shortfall


def _may_borrow(cell: Cell, units: int) -> bool:
    """Tell whether a borrowing limit allows an amount, whatever other ClusterQueues free."""
    if cell.borrowing is None or cell.parent is None:
        return True
    local_free = max(cell.local_quota - cell.usage, 0)
    over = max(cell.usage - cell.local_quota, 0)
    return units - local_free <= cell.subtree_quota - cell.local_quota + cell.borrowing - over


def _releasable_amount(
    preemptor: Preemptor, cell: Cell, units: int, own: int
) -> tuple[int, Shortfall | None]:
    """Return the most that evictions in other ClusterQueues could free, and until when."""
    state, cq = preemptor.state, preemptor.cq
    reclaim = cq.spec.preemption.reclaim_within_cohort
    if cell.parent is None or reclaim == "Never" or preemptor.rights.displaced:
        return 0, Shortfall(units=units, unused=units - own, lost=preemptor.rights.displaced)
    if state.policy.fair_sharing:
        return _releasable_fair(preemptor, cell, units, own)
    return _releasable_classic(preemptor, cell, units, own)


def _releasable_classic(
    preemptor: Preemptor, cell: Cell, units: int, own: int
) -> tuple[int, Shortfall | None]:
    """Return the most that other ClusterQueues could free by ``preemption.classic``.

    A preemptor within its own quota may reclaim from all ClusterQueues that borrow, unless a cohort
    between does not borrow. A borrowing preemptor may reclaim from ClusterQueues beside an ancestor
    whose quota still fits the amount, and from others only by ``borrowWithinCohort``.
    """
    cq, priority = preemptor.cq, preemptor.rights.priority
    limit = priority_limit(priority, cq.spec.preemption.reclaim_within_cohort)
    within = cell.usage - own + units <= cell.subtree_quota
    lower = _borrow_priority_limit(cq, priority)
    number, claimed, needs = 0, False, preemptor.rights.needs
    for node, parent, remaining in path_to_root(cq.node, cell.fr, units):
        at = node.cells[cell.fr]
        claimed = claimed or at.subtree_quota - at.usage >= remaining
        most = limit if within or claimed else min(limit, lower)
        if most > -ANY_PRIORITY:
            number += usage_below_priority(
                borrowed_by_priority(cq.tree, parent, cell.fr, needs, cohorts=True), most
            )
            if not is_within_quota(node, needs):
                number -= usage_below_priority(
                    borrowed_by_priority(cq.tree, node, cell.fr, needs, cohorts=True), most
                )
    lasts = lower == -ANY_PRIORITY and not within and not claimed
    return number, Shortfall(units=units, unused=units - own) if lasts else None


def _releasable_fair(
    preemptor: Preemptor, cell: Cell, units: int, own: int
) -> tuple[int, Shortfall | None]:
    """Return the most that other ClusterQueues could free by ``preemption.fair``.

    A preemptor within its own quota may reclaim from all ClusterQueues that borrow. Any other may
    take a victim whose side, below the lowest common cohort, keeps at least the least share that
    the preemptor's side could have: its share once all possible victims there have left.
    """
    cq, rights, fr = preemptor.cq, preemptor.rights, cell.fr
    tree, needs = cq.tree, rights.needs
    limit = priority_limit(rights.priority, cq.spec.preemption.reclaim_within_cohort)
    if cell.usage + units <= cell.subtree_quota:
        everywhere = borrowed_by_priority(tree, tree.root, fr, needs, cohorts=False)
        of_queue = borrowed_by_priority(tree, cq.node, fr, needs, cohorts=False)
        return usage_below_priority(everywhere, limit) - usage_below_priority(of_queue, limit), None
    if not rights.moves:
        return 0, Shortfall(units=units, unused=units - own, lost=True)
    number, below, gone, least = 0, own, _own_evictable_usage(preemptor), ZERO
    for node, parent, remaining in path_to_root(cq.node, fr, units):
        least = node_sums(tree, node).share
        below = own + number
        if gone or children_with_share(tree, parent, node, needs, least):
            least = dominant_share(node, {**gone, fr: gone.get(fr, 0) + remaining})
            for child in children_with_share(tree, parent, node, needs, least):
                number += releasable_amount(tree, child, fr, least, limit)
                if parent.parent is not None:
                    _add_evictable(preemptor, gone, child, least)
    shortfall = Shortfall(units=units, unused=units - below, rank=least.rank, needs=needs)
    return number, shortfall


def candidate_queues(preemptor: Preemptor, amounts: dict[FlavorResource, int]) -> set[str]:
    """Return the other ClusterQueues in which fair shares may allow a victim.

    Each is tested alone, for all requested amounts. Other ClusterQueues have no possible victim.
    """
    tree, names, gone, missing = (
        preemptor.cq.tree,
        set[str](),
        _own_evictable_usage(preemptor),
        dict(amounts),
    )
    node = preemptor.cq.node
    while node.parent is not None:
        extra = {fr: gone.get(fr, 0) + missing.get(fr, 0) for fr in {**gone, **missing}}
        least = dominant_share(node, extra)
        for child in children_with_share(tree, node.parent, node, preemptor.rights.needs, least):
            workloads = _add_evictable(preemptor, gone, child, least)
            names.update(workload.cluster_queue for workload in workloads)
        missing = {
            fr: max(0, units - local_available(node.cells[fr])) for fr, units in missing.items()
        }
        node = node.parent
    return names


def _own_evictable_usage(preemptor: Preemptor) -> dict[FlavorResource, int]:
    """Return the usage that a preemptor may evict in its own ClusterQueue, negated."""
    limit = priority_limit(
        preemptor.rights.priority, preemptor.cq.spec.preemption.within_cluster_queue
    )
    return (
        {} if limit == -ANY_PRIORITY else dict(usage_below(preemptor.cq.tree, preemptor.cq, limit))
    )


def _add_evictable(
    preemptor: Preemptor, gone: dict[FlavorResource, int], child: Node, least: Share
) -> list[Workload]:
    """Add the usage of candidates below a node, negated, to ``gone``; return the candidates."""
    workloads, charges = evictable_with_charges(
        preemptor.cq.tree, child, preemptor.rights.needs, least
    )
    for fr, units in charges.items():
        gone[fr] = gone.get(fr, 0) + units
    return workloads


def path_to_root(node: Node, fr: FlavorResource, units: int) -> Iterator[tuple[Node, Node, int]]:
    """Yield each node on the path to the root, its parent, and the amount that reaches the node."""
    while node.parent is not None:
        yield node, node.parent, units
        cell = node.cells[fr]
        if cell.local_quota > cell.usage:
            units = max(0, units - local_available(cell))
        node = node.parent


def _borrow_priority_limit(cq: ClusterQueueState, priority: int) -> int:
    """Return the priority below which ``borrowWithinCohort`` allows victims."""
    rules = cq.spec.preemption
    if rules.borrow_within_cohort == "Never":
        return -ANY_PRIORITY
    most = rules.borrow_max_priority
    return priority if most is None else min(priority, most + 1)


def usage_below_priority(sums: _Sums | None, limit: int) -> int:
    """Return the usage of workloads below a priority."""
    total = 0
    for at, units in sums.items() if sums else ():
        if at < limit:
            total += units
    return total
