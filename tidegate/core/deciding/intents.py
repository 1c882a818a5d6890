"""Intents: what a preemption freed is kept for whoever preempted, until it starts or cannot.

Source: docs/adr/0005-ending-preemption-circles.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.contracts.decisions import DecisionEvent, PreemptionAbandoned
from tidegate.core.admissibility import barrier, outdated
from tidegate.core.deciding.admit import granted, reserve
from tidegate.core.draft import Draft, Intent, Workload
from tidegate.core.fitting import NO_CANDIDATES, Oracle
from tidegate.core.flavors import Assignment, assign
from tidegate.core.nominating import Nominee
from tidegate.core.passing import Pass
from tidegate.core.proposing import Proposal
from tidegate.core.rooms import Room, Tree
from tidegate.core.tree import add, fits, free, level, remove
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


def ready(run_of: Pass, trees: Iterable[Tree]) -> list[Nominee]:
    """Return the preemptors of these trees for which there is room now, as heads of their queues.

    Each as it would be placed now, or else as it was intended. To be called between ``begin`` and
    ``end`` of a cycle.
    """
    draft, found = run_of.draft, list[Nominee]()
    shown = {id(tree) for tree in trees} if draft.intents else set[int]()
    for intent in draft.intents.values():
        workload = draft.workloads.get(intent.workload)
        room = draft.forest.rooms.get(intent.cluster_queue)
        if workload is None or room is None or id(room.tree) not in shown:
            continue
        made = _ready(run_of, intent, workload, room)
        if made is not None:
            found.append(made)
    return found


def fulfil(run_of: Pass, nominee: Nominee) -> bool:
    """Give a preemptor what was kept for it, if there is still room; tell whether there was."""
    intent, proposal, room = nominee.intent, nominee.proposal, nominee.room
    assert intent is not None
    assert proposal is not None
    usage = list(proposal.assignment.usage.items())
    with_own = [(fr, -units) for fr, units in intent.charges]
    run_of.reserve(room.tree, room.node, with_own)
    if not (fits(room.node, usage) and run_of.fits_now(room.tree, room.node, usage)):
        run_of.reserve(room.tree, room.node, intent.charges)
        return False
    assignment = granted(proposal.assignment) if proposal.assignment.podsets else intent.assignment
    reserve(run_of, room, nominee.workload, assignment, nominee.borrows)
    return True


def _ready(run_of: Pass, intent: Intent, workload: Workload, room: Room) -> Nominee | None:
    """Return a preemptor with its placement if it fits beside all that is charged now."""
    tree, node = room.tree, room.node
    remove(node, intent.charges)
    now = assign(run_of.draft, workload, oracle=_nobody(room), room=room)
    usage = list(now.usage.items())
    fresh = now.mode == "Fit" and fits(node, usage)
    add(node, intent.charges)
    if fresh and run_of.fits_now(tree, node, usage):
        found, borrows = now, now.borrows
    elif run_of.fits_now(tree, node, intent.charges):
        found = Assignment(podsets=[], usage=dict(intent.charges))
        borrows = _level(room, intent)
    else:
        return None
    return Nominee(
        workload=workload,
        room=room,
        borrows=borrows,
        is_preemptor=True,
        intent=intent,
        proposal=Proposal(assignment=found),
    )


def _nobody(room: Room) -> Oracle:
    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        return NO_CANDIDATES, level(room.node.cells[fr], units)[0]

    return answer


def _level(room: Room, intent: Intent) -> int:
    cells = room.node.cells
    return max((level(cells[fr], units)[0] for fr, units in intent.charges), default=0)


def _hopeless(draft: Draft, intent: Intent) -> str:
    """Return why an intent cannot be met any more; "" if it can.

    It could when it was made, and nothing else is admitted that would take its room, so only a
    change of what is defined, or a workload charged above its quota, can be the cause.
    """
    workload = draft.workloads.get(intent.workload)
    if workload is None or workload.phase != "pending":
        return "the workload left"
    found = barrier(draft, workload)
    if found is not None:
        return found.details
    room = draft.forest.rooms.get(intent.cluster_queue)
    if room is None or workload.cluster_queue != intent.cluster_queue:
        return "its LocalQueue leads to another ClusterQueue"
    if said := outdated(draft, room, workload, intent.assignment):
        return said
    return "" if _fits_in(draft, intent, room) else "quota changed"


def _fits_in(draft: Draft, intent: Intent, room: Room) -> bool:
    """Tell whether what an intent keeps is within quota, once whoever leaves has left.

    All of a tree's are looked at together, and not again until something changes there.
    """
    tree = room.tree
    if tree.upheld == tree.stamp:
        return True
    view = Pass(draft=draft, decisions_max=0, kueue=False)
    view.begin([tree])
    rooms = draft.forest.rooms
    found = {
        one.workload: all(free(at.node.cells[fr]) >= 0 for fr, units in one.charges if units > 0)
        for one in draft.intents.values()
        if (at := rooms.get(one.cluster_queue)) is not None and at.tree is tree
    }
    view.end()
    if all(found.values()):
        tree.upheld = tree.stamp
    return found[intent.workload]
