"""Who sleeps: ClusterQueues whose heads can neither start nor make room, and were told so before.

A cycle would look at one head of each, find nothing new and park it. Instead, a sleeping
ClusterQueue keeps all it offers parked, and its tree counts for all of them how far the cycles
would be: they differ only in how many shapes they have. Whatever changes in a ClusterQueue itself
wakes it, and then its shapes are as the cycles so far would have left them. So what is decided is
the same; ``tidegate.core.dozing`` tells who may sleep, and who has to be looked at.
"""

from __future__ import annotations

from typing import cast

import msgspec

from tidegate.core.rooms import Room, Shape, Tree
from tidegate.core.shapes import first_of, unpark
from tidegate.core.tree import Cell
from tidegate.model.ids import FlavorResource


class Sleeper(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A sleeping ClusterQueue, and from when on one of its heads might do something.

    Amounts count the whole tree's: ``free`` is what must be unused, ``reach`` what must be unused
    or lent out, ``fair`` the same if also the greatest share is above ``over / under``.
    """

    room: Room
    shapes: int  # how many it would offer, one a cycle
    free: int
    reach: int
    fair: int
    over: int
    under: int
    until_us: int  # when the first of its heads is to be looked at whatever there is


class Night(msgspec.Struct, kw_only=True, eq=False):
    """Who sleeps in a tree, and what cycles have done with each place of their queues."""

    fr: FlavorResource  # the only one there is quota of
    cell: Cell  # the root's
    asleep: dict[str, Sleeper] = {}
    awake: dict[str, Room] = {}
    order: list[Room] = []  # those awake by name; empty: not known
    counts: list[int] = []  # how many sleepers have so many shapes
    offers: list[int] = []  # places that the cycles of this phase offer, in order
    at: int = 0  # how many of them were offered
    tested: list[int] = []  # by place: the stamp at which it was parked
    now: int = -1  # the place that the cycle that runs is about to park; -1: none
    parking: list[tuple[Room, Shape]] = []  # shapes of the awake that this cycle parks as well


def night_of(tree: Tree) -> Night | None:
    """Return who sleeps in a tree; None if nobody may."""
    return cast("Night", tree.night) if tree.night else None


def offers(night: Night) -> bool:
    """Tell whether some sleeper would be offered in the next cycle."""
    return night.at < len(night.offers) and most(night) > night.offers[night.at]


def most(night: Night) -> int:
    """Return the greatest number of shapes that a sleeper has."""
    counts = night.counts
    while counts and not counts[-1]:
        counts.pop()
    return len(counts) - 1


def lay_down(night: Night, sleeper: Sleeper) -> None:
    """Let a ClusterQueue sleep all whose shapes are parked."""
    name = sleeper.room.name
    night.asleep[name] = sleeper
    del night.awake[name]
    night.order = []
    missing = sleeper.shapes + 1 - len(night.counts)
    night.counts.extend([0] * missing)
    night.counts[sleeper.shapes] += 1


def stir(room: Room) -> None:
    """Note that a ClusterQueue is about to change: what was found for its heads counts no more."""
    room.version += 1
    night = room.tree.night
    if night and room.name in cast("Night", night).asleep:
        rouse(cast("Night", night), room)


def rouse(night: Night, room: Room) -> None:
    """Wake a ClusterQueue, and leave its shapes as the cycles so far would have."""
    sleeper = night.asleep.pop(room.name)
    night.counts[sleeper.shapes] -= 1
    night.awake[room.name] = room
    night.order = []
    tops = ((top.rank, shape) for shape in room.shapes.values() if (top := first_of(shape)))
    offered = set(night.offers[night.at :])
    for place, (_, shape) in enumerate(sorted(tops)):
        if place == night.now:
            unpark(room, shape)
            night.parking.append((room, shape))
        elif place in offered:
            unpark(room, shape)
        else:
            shape.tested = night.tested[place]
