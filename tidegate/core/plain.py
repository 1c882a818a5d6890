"""The short way for plain workloads: one podset, one resource, one flavor to choose from.

Most heads of a full cluster cannot go anywhere, and most of those can be told before anybody is
looked for: even without all whom they might preempt there would not be room enough. What the long
way would find is found, only sooner; conformance and differential cases go both ways.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tidegate.contracts.decisions import FlavorTried, HeldReason
from tidegate.core.charging import PODS, count, invalid, per_pod, times
from tidegate.core.draft import Draft, Workload
from tidegate.core.eligibility import mismatch, selects
from tidegate.core.fitting import (
    FIT,
    IN_USE,
    PREEMPT,
    TOO_MUCH,
    Choice,
    preempts_while_borrowing,
)
from tidegate.core.flavors import Assignment, PodSetChoice
from tidegate.core.hopeless import hopeless, sleeps_on
from tidegate.core.preemption.candidates import preemptable
from tidegate.core.preemption.search import find, level_without
from tidegate.core.proposing import Proposal
from tidegate.core.rooms import Room
from tidegate.core.tree import Cell, bounded, free, level

Tried = tuple[tuple[str, str, str, str], ...]


class Plain(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What all workloads of a plain shape ask for."""

    cell: Cell
    units: int
    podset: str
    pods: int
    requests: dict[str, int]
    in_use: Tried  # what is said of it when quota is in use
    too_much: Tried  # and when there is not so much
    fits: dict[int, Answer] = {}  # by level: what is answered if it fits


class Answer(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What could be done for a plain workload."""

    borrows: int = 0
    proposal: Proposal | None = None  # None: nothing
    outcome: Literal["no fit", "no candidates"] = "no fit"  # if there is nothing
    reason: HeldReason = "WaitingForQuota"


_TOO_MUCH = Answer(reason="ExceedsMaxQuota")
_NO_FIT = Answer()
_NO_CANDIDATES = Answer(outcome="no candidates")


def plain_of(draft: Draft, room: Room, workload: Workload) -> Plain | None:
    """Return what a plain workload asks for; None if it has to go the long way."""
    shape = workload.shape
    assert shape is not None
    if shape.epoch != draft.forest.epoch:
        shape.epoch, shape.plain = draft.forest.epoch, _plain(draft, room, workload)
    found = shape.plain
    assert found is None or isinstance(found, Plain)
    return None if workload.checks else found


def answer(draft: Draft, room: Room, workload: Workload, plain: Plain) -> Answer:
    """Return what could be done for a plain workload on the tree as it is shown."""
    cell, units = plain.cell, plain.units
    if units > cell.potential:
        return _TOO_MUCH
    unused = free(cell)
    if units <= unused:
        return _fit(plain, level(cell, units)[0])
    if sleeps_on(draft, room, workload, cell, units):
        return _NO_CANDIDATES
    borrows = units > cell.nominal and not preempts_while_borrowing(draft, room)
    if borrows and not level(cell, units)[1]:
        return _NO_FIT
    if not hopeless(draft, room, workload, (cell, units, unused)):
        targets = find(draft, room, workload, (cell.fr,), {cell.fr: units})
        if targets:
            height = level_without(draft, targets, cell, units)
            made = _assignment(plain, PREEMPT, height)
            return Answer(borrows=height, proposal=Proposal(assignment=made, targets=targets))
    return _NO_CANDIDATES


def _fit(plain: Plain, height: int) -> Answer:
    """Return that a plain workload fits; nothing in it is ever changed, so it is made once."""
    found = plain.fits.get(height)
    if found is None:
        proposal = Proposal(assignment=_assignment(plain, FIT, height))
        found = plain.fits[height] = Answer(borrows=height, proposal=proposal)
    return found


def told(draft: Draft, room: Room, workload: Workload, plain: Plain, said: Tried) -> FlavorTried:
    """Return what was tried for a plain workload with the amounts of this moment."""
    (podset, flavor, resource, reason) = said[0]
    return FlavorTried(
        podset=podset,
        flavor=flavor,
        resource=resource,
        asked=plain.units,
        free=bounded(free(plain.cell)),
        allowed=bounded(plain.cell.potential),
        reason=reason,
        preemptable=preemptable(draft, room, workload, plain.cell.fr),
    )


def _plain(draft: Draft, room: Room, workload: Workload) -> Plain | None:
    if len(workload.podsets) != 1 or workload.replaces or workload.allowed_flavors is not None:
        return None
    podset = workload.podsets[0]
    if podset.min_count is not None or podset.topology is not None or workload.preemption_gates:
        return None
    labels = draft.objects.namespaces.get(workload.key.partition("/")[0])
    if labels is None or not selects(room.spec.namespace_selector, labels.labels):
        return None
    requests = times(per_pod(draft, workload)[0], count(workload, podset))
    if len(requests) != 1 or PODS in room.group_of or invalid(draft, workload):
        return None
    ((resource, units),) = requests.items()
    group = room.group_of.get(resource)
    if group is None or len(group.slots) != 1 or units <= 0:
        return None
    slot = group.slots[0]
    if slot.spec is None or mismatch(podset, slot.spec):
        return None
    tried = podset.name, slot.flavor, resource
    return Plain(
        cell=slot.cells[resource],
        units=units,
        podset=podset.name,
        pods=count(workload, podset),
        requests=requests,
        in_use=((*tried, IN_USE),),
        too_much=((*tried, TOO_MUCH),),
    )


def _assignment(plain: Plain, mode: int, height: int) -> Assignment:
    fr = plain.cell.fr
    choice = Choice(flavor=fr.flavor, mode=mode, borrow=height)
    podset = PodSetChoice(
        name=plain.podset,
        count=plain.pods,
        requests=plain.requests,
        choices={fr.resource: choice},
        fits=mode == FIT,
    )
    return Assignment(
        podsets=[podset],
        mode="Fit" if mode == FIT else "Preempt",
        borrows=height,
        usage={fr: plain.units},
    )
