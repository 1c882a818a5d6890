"""How long evictions surely cannot free an amount, whatever changes elsewhere in the tree.

A workload that may not preempt in order to borrow gets an amount only once as much is free. Under
fair sharing it may, from ClusterQueues with a greater share, so this does not apply to preemptors
that reclaim there.
"""

from __future__ import annotations

from tidegate.core.preemption.bounds import Preemptor, below, limit_of, upwards
from tidegate.core.quota.tree import Cell, Node
from tidegate.core.state.cluster_queues import Lack


def version_below_root(node: Node) -> int:
    """Return a number that rises with each change on a ClusterQueue's path, except at the root."""
    number = node.version
    while node.parent is not None and node.parent.parent is not None:
        node = node.parent
        number += node.version
    return number


def lasting(asking: Preemptor, cell: Cell, units: int) -> Lack | None:
    """Return what must change at the root before an amount may be had; None: not only the root.

    The result holds until ``version_below_root`` changes. The amount must not be available now.
    """
    cq, fr, rules = asking.cq, cell.fr, asking.cq.spec.preemption
    reclaims = cell.parent is not None and rules.reclaim_within_cohort != "Never"
    borrows = asking.state.policy.fair_sharing or rules.borrow_within_cohort != "Never"
    if reclaims and borrows:
        return None
    limit = limit_of(asking.rights.priority, rules.within_cluster_queue)
    own = below(cq.usage_by_priority.get(fr), limit)
    if not reclaims:
        return Lack(units=units - own, own=own)
    within = cell.usage + units - own <= cell.quota
    claims = (
        node.cells[fr].quota - node.cells[fr].usage >= remaining
        for node, _, remaining in upwards(cq.node, fr, units)
    )
    return None if within or any(claims) else Lack(units=units - own, own=own)
