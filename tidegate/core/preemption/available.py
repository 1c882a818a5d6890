"""How much may be taken of what a constraint names, now and once others have been evicted.

A constraint is on a ClusterQueue's cell, or on room in a topology. What evictions could make of a
cell is known by sums (``bounds``); of room only whether there is anybody whose leaving could help.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tidegate.core.preemption.bounds import Asking, limit_of, may_suffice
from tidegate.core.preemption.trial import takes_more
from tidegate.core.quota.tree import Cell, free
from tidegate.core.state.state import State
from tidegate.core.topology.capacity import Capacity, fitting


def unused(state: State, at: Cell | Capacity) -> int:
    """Return what may be taken now, as the cycle shows it; may be negative."""
    return fitting(state.forest.topologies, at) if isinstance(at, Capacity) else free(at)


def may_be_had(asking: Asking, at: Cell | Capacity, units: int) -> bool:
    """Tell whether an amount might fit once everybody had left who may be evicted for it.

    To be asked while trees and nodes are as the cycle shows them to all.
    """
    if not isinstance(at, Capacity):
        return may_suffice(asking, at, units)
    if not asking.cq.tree.shown or units <= unused(asking.state, at):
        return True
    if at.empty or units > unused(asking.state, replace(at, empty=True)):
        return False
    return may_evict(asking)


def may_evict(asking: Asking) -> bool:
    """Tell whether there is anybody who might be evicted: O(ClusterQueues of the tree)."""
    state, cq, workload = asking.state, asking.cq, asking.workload
    rules = cq.spec.preemption
    if workload.never_preempts and state.policy.preemption_policy_never:
        return False
    if _has_below(cq.counted, limit_of(workload, rules.within_cluster_queue)):
        return True
    if cq.node.parent is None or rules.reclaim_within_cohort == "Never" or asking.rights.displaced:
        return False
    limit = limit_of(workload, rules.reclaim_within_cohort)
    return any(
        other is not cq
        and _has_below(other.counted, limit)
        and takes_more(other, asking.rights.needs)
        for other in cq.tree.cluster_queues
    )


def _has_below(counted: Mapping[int, int], limit: int) -> bool:
    return any(priority < limit for priority in counted)
