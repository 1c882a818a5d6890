"""How much evictions could give at most: sums in place of a search that would find nobody.

What a workload may evict in its own ClusterQueue, and in those that borrow, is known by priority
without looking at any workload. Where even all of it is too little, nobody is searched for.
"""

from __future__ import annotations

from tidegate.core.preemption.trial import is_displaced
from tidegate.core.quota.tree import Cell, free
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

_ANY = 1 << 40  # above every priority


def may_suffice(
    state: State, cq: ClusterQueueState, workload: Workload, cell: Cell, units: int
) -> bool:
    """Tell whether an amount might fit once everybody had left who may be evicted for it.

    To be asked while the tree is as the cycle shows it to all; costs O(depth) once the sums of the
    tree are known, O(ClusterQueues) before.
    """
    if state.policy.compatibility == "kueue":
        return True  # there who leaves is a candidate still, and counted nowhere
    if workload.never_preempts and state.policy.preemption_policy_never:
        return units <= free(cell)
    rules = cq.spec.preemption
    own = _below(cq.held.get(cell.fr), _limit(workload, rules.within_cluster_queue))
    if cell.borrowing is not None and cell.parent is not None:
        kept = max(cell.local - cell.usage, 0)
        over = max(cell.usage - cell.local, 0)
        if units - own - kept > cell.quota - cell.local + cell.borrowing - over:
            return False
    if units <= free(cell) + own:
        return True
    reclaim = rules.reclaim_within_cohort
    if cell.parent is None or reclaim == "Never" or is_displaced(state, cq, workload):
        return False
    sums = _borrowed(cq.tree, cell.fr)
    return units <= free(cell) + own + _below(sums, _limit(workload, reclaim))


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


def _below(sums: dict[int, int] | None, limit: int) -> int:
    return sum(units for at, units in sums.items() if at < limit) if sums else 0


def _borrowed(tree: Tree, fr: FlavorResource) -> dict[int, int]:
    """Return what is held of something by priority in all ClusterQueues that borrow anything."""
    if tree.sums_at != tree.stamp:
        tree.sums, tree.sums_at = {}, tree.stamp
    found = tree.sums.get(fr)
    if found is None:
        found = tree.sums[fr] = {}
        for cq in tree.cluster_queues:
            held = cq.held.get(fr)
            if held and any(one.usage > one.quota for one in cq.node.cells.values()):
                for at, units in held.items():
                    found[at] = found.get(at, 0) + units
    return found
