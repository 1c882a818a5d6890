"""Which ClusterQueues of a tree may sleep through a turn, and which a cycle has to look at.

A flat cohort of one flavor-resource in the default mode: there, what a head lacks is a number for
its own queue, known until that queue changes, against two numbers of the whole tree, what is unused
and what is lent out, and under fair sharing the greatest share. So a cycle compares numbers where
it would have looked at heads.
"""

from __future__ import annotations

from tidegate.core import decay
from tidegate.core.draft import Draft, Workload
from tidegate.core.gaps import backs_off
from tidegate.core.hopeless import Lent, Need, lent, need
from tidegate.core.night import Night, Sleeper, lay_down, most, night_of, offers, rouse
from tidegate.core.plain import Plain, plain_of
from tidegate.core.preemption.ranked import NEVER, flat
from tidegate.core.rooms import Room, Tree
from tidegate.core.shapes import first_of, park


def begin(draft: Draft, tree: Tree) -> None:
    """Let those sleep who may, before everybody else in a tree is woken for a turn."""
    if tree.night is None:
        tree.night = _night(draft, tree) or False
    night = night_of(tree)
    if night is None:
        return
    if draft.sticky:
        for sleeper in list(night.asleep.values()):
            rouse(night, sleeper.room)
    else:
        busy = {one.cluster_queue for one in tree.leaving.values()}
        busy.update(one.cluster_queue for one in draft.intents.values())
        for room in list(night.awake.values()):
            found = None if room.name in busy else _sleeper(draft, room)
            if found is not None:
                lay_down(night, found)
    night.at, night.offers = 0, list(range(most(night)))
    night.tested = [-1] * len(night.offers)


def again(tree: Tree) -> None:
    """Begin a new phase of a turn: what was parked before the tree last changed is offered anew."""
    night = night_of(tree)
    if night is not None:
        left = set(night.offers[night.at :])
        outdated = (place for place, at in enumerate(night.tested) if at not in (-1, tree.stamp))
        night.at, night.offers = 0, sorted(left.union(outdated))


def watch(draft: Draft, tree: Tree) -> list[Room]:
    """Return whom a cycle over a tree looks at, in name order, and count it for all who sleep.

    To be called with the tree as the cycle shows it; ``close`` ends what this begins.
    """
    night = night_of(tree)
    if night is None:
        return tree.rooms
    if night.asleep:
        _alarm(night, lent(tree, night.fr), draft.now_us)
    if offers(night):
        night.now = night.offers[night.at]
        night.tested[night.now] = tree.stamp
        night.at += 1
        tree.acted = True
    return awake(tree)


def awake(tree: Tree) -> list[Room]:
    """Return the ClusterQueues of a tree that do not sleep, in name order."""
    night = night_of(tree)
    if night is None:
        return tree.rooms
    if not night.order:
        night.order = sorted(night.awake.values(), key=lambda room: room.name)
    return night.order


def close(tree: Tree) -> None:
    """Park what a cycle would have parked of those whom it woke."""
    night = night_of(tree)
    if night is None:
        return
    for room, shape in night.parking:
        park(room, shape)
        shape.tested = night.tested[night.now]
    night.now, night.parking = -1, []


def has_head(tree: Tree) -> bool:
    """Tell whether somebody who sleeps would be offered in the next cycle."""
    night = night_of(tree)
    return night is not None and offers(night)


def _alarm(night: Night, now: Lent, now_us: int) -> None:
    """Wake those of whom some head may fit now, or have somebody to preempt."""
    free = night.cell.quota - night.cell.usage
    reach = free + now.total
    over, under = now.over, now.under
    woken = [
        one.room
        for one in night.asleep.values()
        if now_us >= one.until_us
        or free >= one.free
        or reach >= one.reach
        or (reach >= one.fair and over * one.under > one.over * under)
    ]
    for room in woken:
        rouse(night, room)


def _night(draft: Draft, tree: Tree) -> Night | None:
    """Return a night in which all are awake if a tree's quotas and policies allow sleep."""
    fr = flat(tree)
    if fr is None or draft.policy.compatibility == "kueue":
        return None
    for room in tree.rooms:
        if room.spec.strategy != "BestEffortFIFO" or decay.applies(draft, room.spec):
            return None
    awake = {room.name: room for room in tree.rooms}
    return Night(fr=fr, cell=tree.root.cells[fr], awake=awake)


def _sleeper(draft: Draft, room: Room) -> Sleeper | None:
    """Return from when on a ClusterQueue has to be looked at; None: at once."""
    if room.slept != (room.version, draft.forest.epoch):
        room.slept = room.version, draft.forest.epoch
        room.sleeper = _measured(draft, room)
    found = room.sleeper
    assert found is None or isinstance(found, Sleeper)
    return found if found is None or _parked(room) else None


def _parked(room: Room) -> bool:
    return all(shape.parked or first_of(shape) is None for shape in room.shapes.values())


def _measured(draft: Draft, room: Room) -> Sleeper | None:
    if not room.active or any(one.parked for one in room.waiting.values()):
        return None
    needs: list[Need] = []
    until_us = NEVER
    for shape in room.shapes.values():
        top = first_of(shape)
        if top is None:
            continue
        if backs_off(draft, top) and top.held is not None:
            until_us = min(until_us, top.held.until_us)
            needs.append(Need())
            continue
        plain = plain_of(draft, room, top)
        if plain is None or not _was_told(top, plain):
            return None
        needs.append(need(draft, room, top, plain.cell, plain.units))
    fair = min((one.fair for one in needs), default=NEVER)
    least = Need()
    for one in needs:
        if one.fair < NEVER and (
            least.fair == NEVER or one.over * least.under < least.over * one.under
        ):
            least = one
    return Sleeper(
        room=room,
        shapes=len(needs),
        free=min((one.free for one in needs), default=NEVER),
        reach=min((one.reach for one in needs), default=NEVER),
        fair=fair,
        over=least.over,
        under=least.under,
        until_us=until_us,
    )


def _was_told(workload: Workload, plain: Plain) -> bool:
    """Tell whether it was said last that a workload waits for quota, as it would be again."""
    held = workload.held
    if held is None:
        return False
    if plain.units > plain.cell.potential:
        return held.reason == "ExceedsMaxQuota" and held.tried == plain.too_much
    return held.reason == "WaitingForQuota" and held.tried == plain.in_use
