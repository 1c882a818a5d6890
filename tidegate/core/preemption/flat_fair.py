"""The search of fair sharing in a flat cohort of one flavor-resource, as sums.

It finds whom ``tidegate.core.preemption.fair`` would find, without touching the tree: who leaves is
counted, and shares are whole numbers. Queues come by falling share, so the search ends where the
first gives whose share is less than the preemptor's.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import cast

import msgspec

from tidegate.contracts.decisions import PreemptionReason
from tidegate.core.preemption.ranked import (
    BOUNDLESS,
    NEVER,
    Giver,
    Ranked,
    candidates,
    flat_of,
    givers,
    may_give,
    scale,
    share_at,
)
from tidegate.core.preemption.trial import Target, Trial
from tidegate.core.rooms import Room
from tidegate.core.tree import Cell
from tidegate.model.ids import FlavorResource

WITHIN = "FairSharingPreemptWithinNominal"
"""The gate by which who stays within its own quota takes it back whatever the shares are."""


class _Queue(msgspec.Struct, kw_only=True, eq=False):
    """A queue in one search."""

    room: Room
    usage: int
    left: list[Ranked]  # its candidates, from ``at`` on
    at: int = 0
    retry: list[Ranked] = []


class _Search(msgspec.Struct, kw_only=True, eq=False):
    """The state of one search."""

    fr: FlavorResource
    own: _Queue  # its usage is without what is asked for
    cell: Cell  # the own queue's
    units: int
    unused: int  # in the whole cohort
    targets: list[tuple[int, _Queue, Target]] = []  # behind what each holds, and where
    queues: dict[str, _Queue] = {}  # by name, once they are first
    tried: list[_Queue] = []  # queues with candidates whose leaving was not fair

    @property
    def fits(self) -> bool:
        """Tell whether there is room enough now."""
        if self.units > self.unused:
            return False
        limit = self.cell.borrowing
        return limit is None or self.own.usage + self.units <= self.cell.quota + limit

    def quota_of(self, room: Room) -> int:
        """Return what a queue has of its own."""
        return room.node.cells[self.fr].quota

    @property
    def bid(self) -> int:
        """Return the preemptor's share as it would be."""
        return share_at(self.own.room, self.fr, self.own.usage + self.units)

    def take(self, one: Ranked, queue: _Queue, reason: PreemptionReason) -> None:
        """Count somebody as gone."""
        self.move(queue, -one[1])
        workload = one[2]
        target = Target(workload=workload, cluster_queue=queue.room.name, reason=reason)
        self.targets.append((one[1], queue, target))

    def move(self, queue: _Queue, units: int) -> None:
        """Count so much as used, or with a minus as free again."""
        queue.usage += units
        self.unused -= units


def flat_fair(trial: Trial, fr: FlavorResource) -> list[Target]:
    """Return what ``fair`` would in a tree that ``flat`` calls flat."""
    room, rules = trial.room, trial.room.spec.preemption
    cell = room.node.cells[fr]
    root = cast("Cell", cell.parent)
    left = candidates(trial.draft, room, trial.workload, fr, rules.within_cluster_queue)
    own = _Queue(room=room, usage=cell.usage, left=left)
    search = _Search(
        fr=fr, own=own, cell=cell, units=trial.amounts[fr], unused=root.quota - root.usage
    )
    heap = _others(trial, fr)
    if not heap and not left:
        return []
    if left:
        heappush(heap, (-search.bid, True, left[0][0], room))
    found = _first_pass(trial, search, heap)
    if not found and len(trial.draft.policy.fair_sharing) > 1:
        found = _second_pass(search)
    return _fill_back(search) if found else []


def _others(trial: Trial, fr: FlavorResource) -> list[Giver]:
    """Return the other queues that have somebody to give, the greatest share first."""
    draft, own = trial.draft, trial.room
    rule = own.spec.preemption.reclaim_within_cohort
    if rule == "Never" or trial.stays_home:
        return []
    alone = flat_of(own.tree)
    if rule == "Any" and alone is not None and not alone.guarantees:
        return [one for one in givers(draft, own.tree) if one[3] is not own]
    found: list[Giver] = []
    for room in own.tree.rooms:
        usage = room.node.cells[fr].usage
        if room is own or not may_give(room, fr, usage):
            continue
        left = candidates(draft, room, trial.workload, fr, rule)
        if left:
            found.append((-share_at(room, fr, usage), False, left[0][0], room))
    found.sort(key=lambda one: one[:3])
    return found


def _first_pass(trial: Trial, search: _Search, heap: list[Giver]) -> bool:
    draft, quota = trial.draft, search.cell.quota
    within = search.own.usage + search.units <= quota and draft.policy.gates.get(WITHIN, True)
    final = draft.policy.fair_sharing[0] == "LessThanOrEqualToFinalShare"
    while heap:
        negated, is_own, _, room = heap[0]
        if not (is_own or within or -negated >= search.bid):
            return False  # nobody left who would give to one that is better off
        heappop(heap)
        queue = _queue(trial, search, room)
        if is_own or within:
            reason: PreemptionReason = "InClusterQueue" if is_own else "InCohortReclamation"
            search.take(queue.left[queue.at], queue, reason)
            queue.at += 1
            taken = True
        else:
            taken = _take_fairly(search, queue, final=final)
        if taken and search.fits:
            return True
        _stand_again(search, heap, queue)
    return False


def _queue(trial: Trial, search: _Search, room: Room) -> _Queue:
    """Return how a queue stands in this search."""
    if room is search.own.room:
        return search.own
    found = search.queues.get(room.name)
    if found is None:
        rule = trial.room.spec.preemption.reclaim_within_cohort
        left = candidates(trial.draft, room, trial.workload, search.fr, rule)
        usage = room.node.cells[search.fr].usage
        found = search.queues[room.name] = _Queue(room=room, usage=usage, left=left)
    return found


def _take_fairly(search: _Search, queue: _Queue, *, final: bool) -> bool:
    """Take a queue's first candidate whose leaving is fair; the others may be tried again."""
    bid, before = search.bid, share_at(queue.room, search.fr, queue.usage)
    most = _most_given(search, queue, before - bid, bid) if final else NEVER
    if not final and bid >= before:
        most = -1
    while queue.at < len(queue.left):
        one = queue.left[queue.at]
        queue.at += 1
        if one[1] <= most:
            search.take(one, queue, "InCohortFairSharing")
            return True
        if not queue.retry:
            search.tried.append(queue)
        queue.retry.append(one)
    return False


def _most_given(search: _Search, queue: _Queue, ahead: int, bid: int) -> int:
    """Return the most that may leave a queue so that its share is the preemptor's at least.

    ``ahead`` is by how much its share is the greater one.
    """
    room = queue.room
    if not bid:
        return NEVER
    if room.node.weight or bid > BOUNDLESS:
        return ahead // scale(room, search.fr)
    return queue.usage - search.quota_of(room) - 1  # boundless as long as it borrows


def _stand_again(search: _Search, heap: list[Giver], queue: _Queue) -> None:
    if queue.at == len(queue.left):
        return
    place = queue.left[queue.at][0]
    if queue is search.own:
        heappush(heap, (-search.bid, True, place, queue.room))
    elif may_give(queue.room, search.fr, queue.usage):
        share = share_at(queue.room, search.fr, queue.usage)
        heappush(heap, (-share, False, place, queue.room))


def _second_pass(search: _Search) -> bool:
    """Go over those left again, each queue once, by the second strategy."""
    left: list[Giver] = []
    for queue in search.tried:
        if may_give(queue.room, search.fr, queue.usage):
            share = share_at(queue.room, search.fr, queue.usage)
            left.append((-share, False, queue.retry[0][0], queue.room))
    left.sort(key=lambda one: one[:3])
    bid = search.bid  # nobody of the own queue leaves here
    for negated, _, _, room in left:
        if -negated <= bid:
            return False
        queue = search.queues[room.name]
        search.take(queue.retry[0], queue, "InCohortFairSharing")
        if search.fits:
            return True
    return False


def _fill_back(search: _Search) -> list[Target]:
    """Let those stay who need not leave, the newest first; the last of all must leave."""
    targets = search.targets
    for at in range(len(targets) - 2, -1, -1):
        units, queue, _ = targets[at]
        search.move(queue, units)
        if search.fits:
            targets[at] = targets[-1]
            targets.pop()
        else:
            search.move(queue, -units)
    return [target for _, _, target in targets]
