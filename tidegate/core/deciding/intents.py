"""Intents: what a preemption freed is kept for whoever preempted, until it starts or cannot.

Source: docs/adr/0005-ending-preemption-circles.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent, PreemptionAbandoned
from tidegate.core.deciding.admit import granted, reserve
from tidegate.core.draft import Draft, Intent, Workload
from tidegate.core.fitting import NO_CANDIDATES, Oracle
from tidegate.core.flavors import assign
from tidegate.core.passing import Pass
from tidegate.core.rooms import Room
from tidegate.core.tree import fits, free, level
from tidegate.model.ids import FlavorResource


def abandon(draft: Draft) -> Iterator[list[DecisionEvent]]:
    """End intents that can no longer be met: the preemptor left or changed, or quota did."""
    for intent in reversed(list(draft.intents.values())):
        if reason := intent.void or _hopeless(draft, intent):
            ended = PreemptionAbandoned(
                at_us=draft.now_us,
                workload=intent.workload,
                cluster_queue=intent.cluster_queue,
                reason=reason,
            )
            yield [ended]


def fulfil(run_of: Pass) -> bool:
    """Start each preemptor for which there is room now; tell whether there was any."""
    draft, started = run_of.draft, False
    for intent in list(draft.intents.values()):
        workload = draft.workloads.get(intent.workload)
        room = draft.forest.rooms.get(intent.cluster_queue)
        if run_of.full or workload is None or room is None or not room.tree.dirty:
            continue
        started = _fulfil(run_of, intent, workload, room) or started
    return started


def _fulfil(run_of: Pass, intent: Intent, workload: Workload, room: Room) -> bool:
    """Start a preemptor as it would be placed now, or else as it was intended."""
    run_of.begin([room.tree])
    run_of.reserve(room.tree, room.node, [(fr, -units) for fr, units in intent.charges])
    now = assign(run_of.draft, workload, oracle=_nobody(room), room=room)
    usage = list(now.usage.items())
    fresh = now.mode == "Fit" and run_of.fits_now(room.tree, room.node, usage)
    fresh = fresh and fits(room.node, usage)
    as_intended = fresh or run_of.fits_now(room.tree, room.node, intent.charges)
    run_of.end()
    if fresh:
        reserve(run_of, room, workload, granted(now), now.borrows)
    elif as_intended:
        reserve(run_of, room, workload, intent.assignment, _level(room, intent))
    return fresh or as_intended


def _nobody(room: Room) -> Oracle:
    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        return NO_CANDIDATES, level(room.node.cells[fr], units)[0]

    return answer


def _level(room: Room, intent: Intent) -> int:
    cells = room.node.cells
    return max((level(cells[fr], units)[0] for fr, units in intent.charges), default=0)


def _hopeless(draft: Draft, intent: Intent) -> str:
    """Return why an intent cannot be met any more; "" if it can.

    It could when it was made, and nothing else is admitted that would take its room, so only
    a change of quota, or a workload charged above it, can be the cause.
    """
    workload = draft.workloads.get(intent.workload)
    if workload is None or workload.phase != "pending":
        return "the workload left"
    room = draft.forest.rooms.get(intent.cluster_queue)
    if room is None or not room.active or workload.cluster_queue != intent.cluster_queue:
        return "its queue was stopped or is gone"
    if not workload.active or workload.gates:
        return "the workload was stopped"
    view = Pass(draft=draft, decisions_max=0, kueue=False)
    view.begin([room.tree])
    cells = room.node.cells
    fits_in = all(free(cells[fr]) >= 0 for fr, units in intent.charges if units > 0)
    view.end()
    return "" if fits_in else "quota changed"
