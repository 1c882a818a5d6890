"""Who can neither start nor make room, told before anybody is looked for.

Taking away what a candidate holds gives at most that much, and under fair sharing nobody gives
whose share is not above the preemptor's. So these tests are exact: whatever they call hopeless, the
search of ``tidegate.core.preemption`` finds nobody.
"""

from __future__ import annotations

from typing import cast

import msgspec

from tidegate.core.draft import Draft, Workload
from tidegate.core.preemption.ranked import NEVER
from tidegate.core.preemption.trial import is_displaced
from tidegate.core.rooms import Room, Tree
from tidegate.core.tree import Cell
from tidegate.model.ids import FlavorResource


class Lent(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What the queues of a tree that are above their quota of something use of it.

    ``over / under`` is the greatest of their shares, if the tree is flat.
    """

    stamp: int  # of the tree, at which this was so
    total: int
    over: int
    under: int


class Need(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """From when on a workload that can do nothing now might do something; see ``Sleeper``."""

    free: int = NEVER
    reach: int = NEVER
    fair: int = NEVER
    over: int = 0
    under: int = 1


_NEVER = Need()


def lent(tree: Tree, fr: FlavorResource) -> Lent:
    """Return what the queues that use more than their quota of something use of it in all."""
    known = cast("Lent | None", tree.above.get(fr))
    if known is None or known.stamp != tree.stamp:
        known = tree.above[fr] = _lent(tree, fr)
    return known


def hopeless(draft: Draft, room: Room, workload: Workload, at: tuple[Cell, int, int]) -> bool:
    """Tell whether there is not room enough even without all who could be preempted.

    Args:
        draft: whose policy it is.
        room: the workload's.
        workload: it asks for one flavor-resource.
        at: that one's cell, how much, and how much of it is unused.
    """
    (cell, units, unused), rules = at, room.spec.preemption
    own = _lower(room, workload, cell, rules.within_cluster_queue)
    if units <= unused + own:
        return False
    alone = rules.reclaim_within_cohort == "Never" or cell.parent is None
    if alone or is_displaced(draft, room, workload):
        return True
    if _stays_within(draft, room, cell) and cell.usage + units - own > cell.quota:
        return True
    found = lent(room.tree, cell.fr)
    others = found.total
    if cell.usage > cell.quota:
        others -= cell.usage
    if units > unused + own + others:
        return True
    over, under = _bid(draft, room, cell, units, own)
    return over > 0 and found.over * under <= over * found.under


def sleeps_on(draft: Draft, room: Room, workload: Workload, cell: Cell, units: int) -> bool:
    """Tell whether a workload is hopeless by what is known of its queue, if that is known at all.

    Of a tree in which queues may sleep; what is found for a shape stands until its queue changes.
    """
    shape, tree = workload.shape, room.tree
    if not tree.night or shape is None or cell.parent is None:
        return False
    if shape.needed != (room.version, cell.usage):
        shape.needed = room.version, cell.usage
        shape.need = need(draft, room, workload, cell, units)
    return is_beyond(cast("Need", shape.need), cell.parent, lent(tree, cell.fr))


def is_beyond(least: Need, root: Cell, now: Lent) -> bool:
    """Tell whether what is unused, what is lent out and the greatest share are all too little."""
    free = root.quota - root.usage
    if free >= least.free:
        return False
    reach = free + now.total
    if reach >= least.reach:
        return False
    return reach < least.fair or now.over * least.under <= least.over * now.under


def need(draft: Draft, room: Room, workload: Workload, cell: Cell, units: int) -> Need:
    """Return from when on a workload might fit or make room, its own queue being as it is.

    The tree must be flat, and nothing be kept from lending.
    """
    if units > cell.potential:
        return _NEVER
    rules = room.spec.preemption
    own = _lower(room, workload, cell, rules.within_cluster_queue)
    most = NEVER if cell.borrowing is None else cell.quota + cell.borrowing - cell.usage
    free = units - own if units <= most + own else NEVER
    if rules.reclaim_within_cohort == "Never":
        return Need(free=free)
    if _stays_within(draft, room, cell) and cell.usage + units - own > cell.quota:
        return Need(free=free)
    reach = units - own + (cell.usage if cell.usage > cell.quota else 0)
    over, under = _bid(draft, room, cell, units, own)
    if not over:
        return Need(free=free, reach=reach)
    return Need(free=free, fair=reach, over=over, under=under)


def _bid(draft: Draft, room: Room, cell: Cell, units: int, own: int) -> tuple[int, int]:
    """Return the least share that a preemptor may come to have; ``(0, 1)``: it is not asked for.

    Under fair sharing in a flat tree nobody without a greater share gives anything, unless the
    preemptor stays within its own quota: whoever gives has less afterwards.
    """
    node = room.node
    flat = cell.parent is not None and cell.parent.parent is None
    if not draft.policy.fair_sharing or not flat or cell.usage + units <= cell.quota:
        return 0, 1
    over = cell.usage + units - own - cell.quota
    could_be_lent = node.lendable.get(cell.fr.resource, 0)
    if over <= 0 or could_be_lent <= 0 or not node.weight or not _single(room.tree):
        return 0, 1
    return over, could_be_lent * node.weight


def _single(tree: Tree) -> bool:
    """Tell whether a tree knows one flavor-resource only: then a share is one fraction."""
    return len(tree.root.cells) == 1


def _lent(tree: Tree, fr: FlavorResource) -> Lent:
    total, best_over, best_under = 0, 0, 1
    for room in tree.rooms:
        node = room.node
        cell = node.cells.get(fr)
        if cell is None or cell.usage <= cell.quota:
            continue
        total += cell.usage
        over, under = cell.usage - cell.quota, node.lendable.get(fr.resource, 0) * node.weight
        if not node.weight:
            over, under = NEVER, 1  # with weight 0 it borrows boundlessly
        if under > 0 and over * best_under > best_over * under:
            best_over, best_under = over, under
    return Lent(stamp=tree.stamp, total=total, over=best_over, under=best_under)


def _stays_within(draft: Draft, room: Room, cell: Cell) -> bool:
    """Tell whether reclaiming takes staying within the own quota, whoever else may leave."""
    flat = cell.parent is not None and cell.parent.parent is None
    classic = not draft.policy.fair_sharing
    return flat and classic and room.spec.preemption.borrow_within_cohort == "Never"


def _lower(room: Room, workload: Workload, cell: Cell, rule: str) -> int:
    """Return what the own queue's workloads hold that a policy may give away, at most."""
    if rule == "Never":
        return 0
    held = room.held.get(cell.fr)
    if not held:
        return 0
    priority = workload.priority
    if rule == "LowerOrNewerEqualPriority":
        priority += 1
    return sum(units for at, units in held.items() if at < priority)
