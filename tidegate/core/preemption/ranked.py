"""Whom a ClusterQueue might have to give, in the order of the search, kept until it changes.

For flat cohorts of one flavor-resource in the default mode: there, everything that the search asks
of a candidate is one number, and everything that it asks of a queue is its usage.
"""

from __future__ import annotations

from math import lcm
from typing import TypeAlias, cast

import msgspec

from tidegate.core.draft import Draft, Workload
from tidegate.core.ordering import queue_time
from tidegate.core.preemption.guarantee import is_guaranteed
from tidegate.core.rooms import Room, Tree
from tidegate.core.tree import INFINITE, Cell
from tidegate.model.ids import FlavorResource
from tidegate.model.quota import WEIGHT_ONE

Rest: TypeAlias = tuple[int, int, str, str]
"""A candidate's place within its queue; ``candidates.order_key`` without what is the same there."""
Ranked: TypeAlias = tuple[Rest, int, Workload]
"""A candidate, behind its place and what it holds."""

NEVER = INFINITE << 1
"""An amount that nothing reaches."""
_COMMON_BITS = 256
BOUNDLESS = 1 << 400
"""Added to the share of who borrows with weight 0: it is greater than any other."""


Giver: TypeAlias = tuple[int, bool, Rest, Room]
"""A queue with somebody to give: its share negated, ``False``, and its first candidate's place."""


class Flat(msgspec.Struct, kw_only=True, eq=False):
    """A flat tree of one flavor-resource that keeps nothing from lending."""

    fr: FlavorResource
    root: Cell
    rooms: list[tuple[Room, Cell]]
    guarantees: bool  # some queue has a minimum run time
    givers: list[Giver] = []  # the greatest share first; at the stamps below
    stamp: int = -1
    shown: int = -1


def flat_of(tree: Tree) -> Flat | None:
    """Return what a flat tree remembers, or None."""
    if tree.flat is None:
        tree.flat = _flat(tree) or False
    if not tree.flat or len(tree.root.cells) != 1:  # somebody may hold what nobody has quota of
        return None
    return cast("Flat", tree.flat)


def flat(tree: Tree) -> FlavorResource | None:
    """Return the only flavor-resource of a flat tree that keeps nothing from lending, or None."""
    found = flat_of(tree)
    return None if found is None else found.fr


def givers(draft: Draft, tree: Tree) -> list[Giver]:
    """Return who may be preempted by a policy that allows anybody; not to be changed.

    Of a flat tree without minimum run times, as it is shown now.
    """
    found = cast("Flat", tree.flat)
    if (found.stamp, found.shown) != (tree.stamp, tree.shown):
        found.stamp, found.shown = tree.stamp, tree.shown
        all_of = (_giver(draft, room, cell) for room, cell in found.rooms)
        found.givers = sorted((one for one in all_of if one is not None), key=_first_three)
    return found.givers


def _first_three(one: Giver) -> tuple[int, bool, Rest]:
    return one[:3]


def _giver(draft: Draft, room: Room, cell: Cell) -> Giver | None:
    at = room.version, cell.usage
    if room.gives_at == at:
        return cast("Giver | None", room.gives)
    found: Giver | None = None
    fr, usage = cell.fr, cell.usage
    if room.active and may_give(room, fr, usage) and (left := _ranked(draft, room, fr)):
        found = -share_at(room, fr, usage), False, left[0][0], room
    if room.ranked_at == room.version or found is None:
        room.gives, room.gives_at = found, at
    return found


def scale(room: Room, fr: FlavorResource) -> int:
    """Return what one unit borrowed adds to a queue's share, as shares of its tree compare."""
    if room.scale < 0:
        common = _common(room.tree, fr)
        for one in room.tree.rooms:
            under = _under(one, fr)
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


def _flat(tree: Tree) -> Flat | None:
    root = tree.root
    if tree.cyclic or not root.is_cohort or len(root.cells) != 1:
        return None
    ((fr, cell),) = root.cells.items()
    if not all(_lends_all(room, cell) for room in tree.rooms):
        return None
    if _common(tree, fr).bit_length() > _COMMON_BITS:
        return None  # weights so odd that shares have no handy common measure
    rooms = [(room, room.node.cells[fr]) for room in tree.rooms]
    guarantees = any(room.spec.min_runtime_us for room in tree.rooms)
    return Flat(fr=fr, root=cell, rooms=rooms, guarantees=guarantees)


def _lends_all(room: Room, root: Cell) -> bool:
    cell = room.node.cells.get(root.fr)
    return cell is not None and cell.known and cell.parent is root and not cell.local


def _common(tree: Tree, fr: FlavorResource) -> int:
    """Return what all shares of a tree are multiples of one part of."""
    unders = (_under(room, fr) for room in tree.rooms)
    return lcm(*(under for under in unders if under > 0))


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
