"""Who would run in vain is not started into a gap that is about to close.

A workload that is preempted loses what it ran. If whoever preempted it comes at regular times, the
room that it leaves in between is too short for the same kind of workload each time, and starting it
there wastes what the room could have done for others. So a kind that lost a run is held back while
the next arrival of a preemptor's priority is nearer than the kind is known to run, and less than a
third of the time between two such arrivals is left.

Why that is fair stands in docs/adr/0006-not-starting-into-closing-gaps.md.
"""

from __future__ import annotations

from tidegate.core import deadlines
from tidegate.core.charging import kind_of, shape_key
from tidegate.core.draft import Arrivals, Draft, Vain, Workload
from tidegate.core.forest import touch
from tidegate.core.rooms import Shape

FAMILY = "gap"
SHORT = 3
"""A gap is at most this part of the time between two arrivals: a third."""
KEEPS_WORD = 2
"""The version of the rules since which who was told to wait until some time does."""
BY_EVENT = ACTS_FIRST = 3
"""The version of the rules since which a gap ends by its event, and only who would act is told."""
BY_MAX = 8
"""How many preemptors are remembered for one kind."""


def note_arrival(draft: Draft, workload: Workload) -> None:
    """Remember when a workload came to its ClusterQueue; folds call this."""
    queue = draft.arrivals.get(workload.cluster_queue)
    if queue is None:
        queue = draft.arrivals[workload.cluster_queue] = {}
    known = queue.get(workload.priority)
    if known is None:
        queue[workload.priority] = Arrivals(last_us=draft.now_us)
    elif draft.now_us > known.last_us:
        if known.last_us:
            known.every_us = draft.now_us - known.last_us
        known.last_us = draft.now_us


def note_loss(draft: Draft, workload: Workload, preemptor: Workload | None) -> None:
    """Remember by whom a workload that had run was preempted; folds call this."""
    ran_us = draft.now_us - workload.admitted_us if workload.admitted_us else 0
    if preemptor is None or ran_us <= 0:
        return
    kinds = draft.vain.setdefault(workload.cluster_queue, {})
    vain = kinds.setdefault(kind_of(shape_key(draft, workload)), Vain())
    vain.need_us = max(vain.need_us, ran_us + 1)  # it would have run on
    by = {name: one for name, one in vain.by.items() if name != preemptor.cluster_queue}
    by[preemptor.cluster_queue] = preemptor.priority
    vain.by = dict(list(by.items())[-BY_MAX:])


def note_end(draft: Draft, workload: Workload) -> None:
    """Remember how long a kind that lost runs before runs to its end; folds call this."""
    kinds = draft.vain.get(workload.cluster_queue) if draft.vain else None
    if kinds and workload.admitted_us:
        vain = kinds.get(kind_of(shape_key(draft, workload)))
        if vain is not None:
            vain.need_us = draft.now_us - workload.admitted_us


def closes_at_us(draft: Draft, workload: Workload, shape: Shape) -> int:
    """Return when the gap is over that a workload is not started into; 0: there is none.

    Whoever was told to wait until some time does so: what is foreseen may change meanwhile.
    """
    held = workload.held
    if held is not None and held.until_us > draft.now_us:
        return held.until_us
    kinds = draft.vain.get(workload.cluster_queue)
    vain = None if kinds is None else kinds.get(shape.kind)
    if vain is None:
        return 0
    until_us = 0
    for queue, priority in vain.by.items():
        until_us = max(until_us, _next_us(draft, queue, priority, vain.need_us))
    return until_us


def foreseen_us(draft: Draft, workload: Workload) -> int:
    """Return when the gap is over that a workload would act in right now; 0: it may.

    Asked when nothing else keeps it from acting, so that time alone never makes a difference: in a
    tree in which nothing changed there is nobody to be asked. Before version 3 of the rules whoever
    fitted somehow was asked when it was nominated (``closes_at_us``), also who then waited for
    something else; who began to lead asked again, and could find that it had come to be too late.
    """
    shape = workload.shape
    if draft.policy.compatibility == "kueue" or draft.policy.rules < ACTS_FIRST or shape is None:
        return 0
    return closes_at_us(draft, workload, shape) if draft.vain else 0


def backs_off(draft: Draft, workload: Workload) -> bool:
    """Tell whether a workload was told to wait until some time, and it is not yet that time.

    Since version 2 of the rules it is not even looked at before: version 1 forgot what it had told
    as soon as the room was in use, and told it anew when it was not. Since version 3 the time has
    come with the event that says so, whatever else moved the clock before.
    """
    held = workload.held
    if held is None or not held.until_us:
        return False
    if draft.policy.rules >= BY_EVENT:
        return f"{FAMILY}/{workload.key}" in draft.deadlines.at
    return held.until_us > draft.now_us and draft.policy.rules >= KEEPS_WORD


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


def _next_us(draft: Draft, queue: str, priority: int, need_us: int) -> int:
    """Return when the next of a priority comes to a queue if that is too soon; 0 if it is not."""
    known = draft.arrivals.get(queue, {}).get(priority)
    if known is None or not known.every_us:
        return 0
    next_us = known.last_us + known.every_us
    too_soon_us = min(need_us, known.every_us // SHORT)
    return next_us if draft.now_us < next_us < draft.now_us + too_soon_us else 0
