"""Whom a ClusterQueue might have to give, in the order of the search, kept until it changes.

For flat cohorts of one flavor-resource in the default mode: there, everything that the search asks
of a candidate is one number, and everything that it asks of a queue is its usage.
"""

from __future__ import annotations

from math import lcm
from typing import TypeAlias, cast

from tidegate.core.draft import Draft, Workload
from tidegate.core.ordering import queue_time
from tidegate.core.preemption.guarantee import is_guaranteed
from tidegate.core.rooms import Room, Tree
from tidegate.core.tree import Cell
from tidegate.model.ids import FlavorResource
from tidegate.model.quota import WEIGHT_ONE

Rest: TypeAlias = tuple[int, int, str, str]
"""A candidate's place within its queue; ``candidates.order_key`` without what is the same there."""
Ranked: TypeAlias = tuple[Rest, int, Workload]
"""A candidate, behind its place and what it holds."""

BOUNDLESS = 1 << 200
"""Added to the share of who borrows with weight 0: it is greater than any other."""


def flat(tree: Tree) -> FlavorResource | None:
    """Return the only flavor-resource of a flat tree that keeps nothing from lending, or None."""
    if tree.flat is None:
        tree.flat = _flat(tree) or False
    if not tree.flat or len(tree.root.cells) != 1:  # somebody may hold what nobody has quota of
        return None
    return cast("FlavorResource", tree.flat)


def scale(room: Room, fr: FlavorResource) -> int:
    """Return what one unit borrowed adds to a queue's share, as shares of its tree compare."""
    if room.scale < 0:
        unders = [_under(one, fr) for one in room.tree.rooms]
        common = lcm(*(under for under in unders if under > 0))
        for one, under in zip(room.tree.rooms, unders, strict=True):
            one.scale = common // under if under > 0 else 0
    return room.scale


def share_at(room: Room, fr: FlavorResource, usage: int) -> int:
    """Return a queue's share if it used so much; comparable with others' of its tree only."""
    over = usage - room.node.cells[fr].quota
    if over <= 0:
        return 0
    found = over * scale(room, fr)
    return found + BOUNDLESS if found and not room.node.weight else found


def candidates(
    draft: Draft, room: Room, preemptor: Workload, fr: FlavorResource, rule: str
) -> list[Ranked]:
    """Return who of a queue may be preempted, in order; not to be changed."""
    if rule == "Never" or not room.active:
        return []
    found = _ranked(draft, room, fr)
    if room.spec.min_runtime_us:
        found = [one for one in found if not is_guaranteed(draft, one[2])]
    if rule == "Any":
        return found
    priority = preemptor.priority
    lower = [one for one in found if one[0][0] < priority]
    if rule == "LowerPriority":
        return lower
    since_us = queue_time(draft.policy, preemptor)
    equal = (one for one in found if one[0][0] == priority)
    return [*lower, *(one for one in equal if since_us < queue_time(draft.policy, one[2]))]


def may_give(room: Room, fr: FlavorResource, usage: int) -> bool:
    """Tell whether those who hold quota of a queue use more than it has, if it used so much."""
    return usage - room.intended.get(fr, 0) > room.node.cells[fr].quota


def _flat(tree: Tree) -> FlavorResource | None:
    root = tree.root
    if tree.cyclic or not root.is_cohort or len(root.cells) != 1:
        return None
    ((fr, cell),) = root.cells.items()
    if not cell.known:
        return None
    return fr if all(_lends_all(room, root.cells[fr]) for room in tree.rooms) else None


def _lends_all(room: Room, root: Cell) -> bool:
    cell = room.node.cells.get(root.fr)
    return cell is not None and cell.parent is root and not cell.local


def _under(room: Room, fr: FlavorResource) -> int:
    return room.node.lendable.get(fr.resource, 0) * (room.node.weight or WEIGHT_ONE)


def _ranked(draft: Draft, room: Room, fr: FlavorResource) -> list[Ranked]:
    if room.ranked_at == room.version:
        return cast("list[Ranked]", room.ranked)
    found: list[Ranked] = []
    lasts = True
    for one in room.holding.values():
        if one.phase == "evicting" or not one.charges:
            continue
        lasts = lasts and one.reserved_us != 0
        place = one.priority, -(one.reserved_us or draft.now_us), one.uid, one.key
        found.append((place, sum(units for _, units in one.charges), one))
    found.sort(key=lambda ranked: ranked[0])
    if lasts:  # else the clock counts for who got its quota at no time
        room.ranked, room.ranked_at = found, room.version
    del fr
    return found
