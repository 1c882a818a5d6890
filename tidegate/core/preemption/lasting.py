"""How long evictions surely do not give an amount, whatever changes elsewhere in the tree.

A workload that may not borrow what others hold gets an amount only once as much is free, or once
another side of the tree has a share that is large enough to give. Both are compared at once.
"""

from __future__ import annotations

from tidegate.core.preemption.bounds import (
    Asking,
    below,
    limit_of,
    own_losses,
    upwards,
)
from tidegate.core.preemption.sums import giving
from tidegate.core.quota.shares import Share, share
from tidegate.core.quota.tree import Cell, Node
from tidegate.core.state.cluster_queues import Lack, Tree


def version_below_root(node: Node) -> int:
    """Return a number that rises with whatever changes on a ClusterQueue's way, the root apart."""
    number = node.version
    while node.parent is not None and node.parent.parent is not None:
        node = node.parent
        number += node.version
    return number


def lasting(asking: Asking, cell: Cell, units: int) -> Lack | None:
    """Return until when an amount is not had, with whatever rights; None: it depends on more.

    It holds until ``version_below_root`` changes. To be asked of an amount that is not had now.
    """
    cq, workload, fr = asking.cq, asking.workload, cell.fr
    rules, fair = cq.spec.preemption, bool(asking.state.policy.fair_sharing)
    own = below(cq.held.get(fr), limit_of(workload, rules.within_cluster_queue))
    if cell.parent is None or rules.reclaim_within_cohort == "Never":
        return Lack(units=units - own, own=own)
    if cell.usage + units - (0 if fair else own) <= cell.quota:
        return None
    if fair:
        return _lasting_fairly(asking, cell, units, own)
    claims = (
        node.cells[fr].quota - node.cells[fr].usage >= remaining
        for node, _, remaining in upwards(cq.node, fr, units)
    )
    if rules.borrow_within_cohort != "Never" or any(claims):
        return None
    return Lack(units=units - own, own=own)


def _lasting_fairly(asking: Asking, cell: Cell, units: int, own: int) -> Lack | None:
    """Tell the same of who may take from those with a greater share; only right below the root."""
    node, gone = asking.cq.node, own_losses(asking)
    if node.parent is None or node.parent.parent is not None:
        return None
    least = share(node, {**gone, cell.fr: gone.get(cell.fr, 0) + units})
    return Lack(units=units - own, own=own, share=least)


def holds(node: Node, tree: Tree, least: Share | None) -> bool:
    """Tell whether no other child of the root than a ClusterQueue has a share as large."""
    return least is None or node.parent is None or not giving(tree, node.parent, node, least)
