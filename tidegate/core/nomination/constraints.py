"""The constraints that keep a workload from starting: those it was told of, and a proof.

Each is so much of a quota cell, or so much room in a flavor's topology.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.core.flavors.demands import least_demand, told_demand
from tidegate.core.flavors.fitting import IN_USE
from tidegate.core.nomination.explain import NODELESS
from tidegate.core.preemption.available import may_be_had, unused
from tidegate.core.preemption.bounds import Asking
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import Held, State, Workload
from tidegate.core.state.workload import Constraint, Part, Parts, Shape, Slot
from tidegate.core.topology.fitting.request import Failure


def named(
    state: State, cq: ClusterQueueState, shape: Shape, workload: Workload
) -> list[Constraint] | None:
    """Return the constraints that the workload was told of: it is told anew when one holds.

    None: it was told of more than constraints say.
    """
    held = workload.held
    if held is None:
        return []
    if shape.says is None or shape.says[0] is not held:
        room = rooms(state, workload, held)
        shape.says = held, None if room is None else [*_cells(cq, held), *room]
    return shape.says[1]


def rooms(state: State, workload: Workload, held: Held) -> list[Constraint] | None:
    """Return the room in topologies that a workload was told it lacks; None: it cannot be told.

    Not what no room would mend: that stays so until something is defined otherwise.
    """
    found: list[Constraint] = []
    for podset, flavor in held.places:
        needed = told_demand(state, workload, podset, flavor)
        if needed is None:
            return None
        if not isinstance(needed, Failure):
            found.append((replace(needed.room, empty=held.reason == NODELESS), needed.slices))
    return found


def proof(asked: Asking, parts: Parts) -> list[Constraint] | None:
    """Return for some part of a workload a constraint that it violates in each flavor, or None."""
    for part in parts.each:
        found = _violated(asked, part)
        if found is not None:
            return found
    return None


def _cells(cq: ClusterQueueState, held: Held) -> Iterator[Constraint]:
    for (_, flavor, resource, said), asked in zip(held.tried, held.asked, strict=True):
        if said == IN_USE:
            group = cq.group_of[resource]
            yield from ((one.cells[resource], asked) for one in group.slots if one.flavor == flavor)


def _violated(asked: Asking, part: Part) -> list[Constraint] | None:
    """Return for each flavor of a part an amount that it has no room for, evictions included."""
    needs = [(name, units) for name, units in part.least.items() if units]
    if not needs:
        return None
    found: list[Constraint] = []
    for slot in part.slots:
        lacking = _of_quota(asked, slot, needs)
        if lacking is None:
            lacking = _of_nodes(asked, part, slot)
        if lacking is None:
            return None
        found += lacking
    return found


def _of_quota(asked: Asking, slot: Slot, needs: list[tuple[str, int]]) -> list[Constraint] | None:
    """Return what of a flavor's quota is too little; nothing, if it is so for ever."""
    for name, units in needs:
        cell = slot.cells[name]
        if units > cell.potential:
            return []
        if not may_be_had(asked, cell, units):
            return [(cell, units)]
    return None


def _of_nodes(asked: Asking, part: Part, slot: Slot) -> list[Constraint] | None:
    """Return what room on a flavor's nodes is too little; nothing, if it is so for ever."""
    needed = least_demand(asked.state, asked.cq, asked.workload, part.podsets, slot)
    if needed is None:
        return None
    if isinstance(needed, Failure):
        return []
    room, slices = needed
    if may_be_had(asked, room, slices):
        return None
    empty = replace(room, empty=True)
    return [(empty if slices > unused(asked.state, empty) else room, slices)]
