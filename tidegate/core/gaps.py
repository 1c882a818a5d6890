"""Who ran in vain is not started into a gap that is about to close.

A workload that is preempted loses what it ran. If whoever preempted it comes at regular times, the
room that it leaves in between is too short for the same kind of workload each time, and starting it
there wastes what the room could have done for others. So a kind that lost a run is held back while
the next arrival of its preemptor's priority is nearer than that run was long, and less than a fifth
of the time between two such arrivals is left.

Why that is fair stands in docs/adr/0006-not-starting-into-closing-gaps.md.
"""

from __future__ import annotations

from tidegate.core import deadlines
from tidegate.core.charging import kind_of, shape_key
from tidegate.core.draft import Arrivals, Draft, Vain, Workload
from tidegate.core.forest import touch
from tidegate.core.rooms import Room, Shape

FAMILY = "gap"
SHORT = 5
"""A gap is at most this part of the time between two arrivals."""


def note_arrival(draft: Draft, workload: Workload) -> None:
    """Remember when a workload came to its ClusterQueue; folds call this."""
    queue = draft.arrivals.get(workload.cluster_queue)
    if queue is None:
        queue = draft.arrivals[workload.cluster_queue] = {}
    known = queue.get(workload.priority)
    if known is None:
        queue[workload.priority] = Arrivals(last_us=draft.now_us)
        return
    if draft.now_us > known.last_us:
        known.every_us = draft.now_us - known.last_us
        known.last_us = draft.now_us
        room = draft.forest.rooms.get(workload.cluster_queue)
        if known.feared and room is not None:
            touch(draft, room.tree)


def note_loss(draft: Draft, workload: Workload, preemptor: Workload | None) -> None:
    """Remember what a preempted workload ran in vain; folds call this."""
    ran_us = draft.now_us - workload.admitted_us if workload.admitted_us else 0
    if preemptor is None or ran_us <= 0:
        return
    vain = Vain(ran_us=ran_us, by_queue=preemptor.cluster_queue, by_priority=preemptor.priority)
    kind = kind_of(shape_key(draft, workload))
    draft.vain.setdefault(workload.cluster_queue, {})[kind] = vain
    feared = draft.arrivals.setdefault(vain.by_queue, {}).setdefault(vain.by_priority, Arrivals())
    feared.feared = True


def note_end(draft: Draft, workload: Workload) -> None:
    """Forget what a kind lost once one of it has come to its end; folds call this."""
    lost = draft.vain.get(workload.cluster_queue) if draft.vain else None
    if lost and workload.admitted_us:
        lost.pop(kind_of(shape_key(draft, workload)), None)
        if not lost:
            del draft.vain[workload.cluster_queue]


def closes_at_us(draft: Draft, room: Room, shape: Shape) -> int:
    """Return when the gap is over that a shape is not started into; 0: there is none."""
    lost = draft.vain.get(room.name)
    vain = None if lost is None else lost.get(kind_of(shape.key))
    if vain is None:
        return 0
    known = draft.arrivals.get(vain.by_queue, {}).get(vain.by_priority)
    if known is None or not known.every_us:
        return 0
    next_us = known.last_us + known.every_us
    short_us = min(vain.ran_us, known.every_us // SHORT)
    return next_us if draft.now_us < next_us <= draft.now_us + short_us else 0


def hold(draft: Draft, workload: Workload, until_us: int) -> None:
    """Ask to be looked at when the gap is over; folds call this."""
    deadlines.set(draft, f"{FAMILY}/{workload.key}", until_us)


def end_due(draft: Draft) -> None:
    """Let those be tried again whose gap is over; the fold of TimePassed calls this."""
    for key in deadlines.due(draft, FAMILY):
        deadlines.clear(draft, f"{FAMILY}/{key}")
        workload = draft.workloads.get(key)
        room = None if workload is None else draft.forest.rooms.get(workload.cluster_queue)
        if room is not None:
            touch(draft, room.tree)
