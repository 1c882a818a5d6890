"""The search for victims: for one flavor-resource, or for what a whole assignment lacks.

Whoever is tried is taken out of the live tree and put back before the search ends.

Source: behaviour.md 6.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.core.charging import flavor_resource, per_pod
from tidegate.core.draft import Draft, Workload
from tidegate.core.fitting import FIT, NO_CANDIDATES, PREEMPT, RECLAIM, Choice, Oracle
from tidegate.core.flavors import Assignment, PodSetChoice, external
from tidegate.core.forest import forest
from tidegate.core.preemption.bounds import may_suffice
from tidegate.core.preemption.classic import classic
from tidegate.core.preemption.fair import fair
from tidegate.core.preemption.trial import Target, Trial
from tidegate.core.rooms import Room
from tidegate.core.tree import Cell, add, level, remove
from tidegate.model.ids import FlavorResource


def targets(
    draft: Draft, workload: Workload, assignment: Assignment, *, room: Room | None = None
) -> list[Target]:
    """Return who must leave so that an assignment fits; empty: nobody would be enough."""
    room = forest(draft).rooms[workload.cluster_queue] if room is None else room
    needs = needed(assignment)
    return find(draft, room, workload, needs, assignment.usage) if needs else []


def needed(assignment: Assignment) -> tuple[FlavorResource, ...]:
    """Return the flavor-resources of an assignment that do not fit as they are."""
    found = {
        flavor_resource(choice.flavor, resource): None
        for podset in assignment.podsets
        if not podset.fits
        for resource, choice in podset.choices.items()
        if choice.mode != FIT
    }
    return tuple(found)


def find(
    draft: Draft,
    room: Room,
    workload: Workload,
    needs: Iterable[FlavorResource],
    usage: dict[FlavorResource, int],
) -> list[Target]:
    """Return who must leave so that ``usage`` fits, ``needs`` being what does not; or nobody."""
    amounts = {fr: units for fr, units in usage.items() if units > 0}
    trial = Trial(draft=draft, room=room, workload=workload, needs=tuple(needs), amounts=amounts)
    if workload.never_preempts and draft.policy.preemption_policy_never:
        return []
    cells = room.node.cells
    needed = ((cells[fr], amounts[fr]) for fr in trial.needs if fr in amounts)
    if not all(may_suffice(draft, room, workload, cell, units) for cell, units in needed):
        return []
    return fair(trial) if draft.policy.fair_sharing else classic(trial)


def oracle(draft: Draft, room: Room, workload: Workload) -> Oracle:
    """Return what tells flavor assignment whom one flavor-resource could be taken from."""

    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        cell = room.node.cells[fr]
        found = find(draft, room, workload, (fr,), {fr: units})
        if not found:
            return NO_CANDIDATES, level(cell, units)[0]
        own = any(one.cluster_queue == room.name for one in found)
        return (PREEMPT if own else RECLAIM), level_without(draft, found, cell, units)

    return answer


def level_without(draft: Draft, targets: list[Target], cell: Cell, units: int) -> int:
    """Return how high the smallest subtree is that holds an amount once targets have left."""
    rooms = draft.forest.rooms
    for one in targets:
        remove(rooms[one.cluster_queue].node, one.workload.charges)
    height = level(cell, units)[0]
    for one in targets:
        add(rooms[one.cluster_queue].node, one.workload.charges)
    return height


def assignment_of(
    workload: Workload,
    choices: Iterable[tuple[str, int, dict[str, tuple[str, int]]]],
    *,
    draft: Draft,
) -> Assignment:
    """Make an assignment by hand: podset, count, and by resource its flavor and mode."""
    made = Assignment(podsets=[])
    for index, (name, pods, given) in enumerate(choices):
        each = per_pod(draft, workload)[index]
        found = PodSetChoice(
            name=name,
            count=pods,
            requests={resource: units * pods for resource, units in each.items()},
            choices={
                resource: Choice(flavor=flavor, mode=mode, borrow=0)
                for resource, (flavor, mode) in given.items()
            },
            fits=all(mode == FIT for _, mode in given.values()),
        )
        made.podsets.append(found)
        for resource, choice in found.choices.items():
            fr = flavor_resource(choice.flavor, resource)
            made.usage[fr] = made.usage.get(fr, 0) + found.requests.get(resource, 0)
    made.mode = external(min((one.worst for one in made.podsets), default=FIT))
    return made
