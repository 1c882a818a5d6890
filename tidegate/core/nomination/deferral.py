"""Whether a workload would only wait for others to leave, told by sums in place of a nomination."""

from __future__ import annotations

from tidegate.core.flavors.parts import parts_of
from tidegate.core.folding.timing import admission_blocked
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.preemption.bounds import may_suffice, who_asks
from tidegate.core.quota.tree import Cell, free
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import Workload
from tidegate.core.state.workload import Part, Slot
from tidegate.model.ids import FlavorResource

_Amounts = dict[FlavorResource, int]


def is_deferred(context: DecideContext, cq: ClusterQueueState, workload: Workload) -> bool:
    """Tell whether a workload surely fits once those who leave have left, and not before.

    It does if each part of it fits into the first flavor that is not ruled out: that is the one
    that would be chosen. Where a flavor that borrows does not end the choice, or where nodes
    matter, it is not told.
    """
    if cq.spec.fungibility.when_can_borrow == "TryNextFlavor" or cq.has_topologies:
        return False
    if admission_blocked(context.state):
        return False
    parts = parts_of(context.state, cq, workload)
    charged: _Amounts = {}
    if not parts.covered:
        return False
    for part in parts.each:
        chosen = _chosen(context, cq, workload, part, charged)
        if chosen is None:
            return False
        for name, units in part.asked.items():
            fr = chosen.cells[name].fr
            charged[fr] = charged.get(fr, 0) + units
    return not context.fits_now(cq, charged.items())


def _chosen(
    context: DecideContext, cq: ClusterQueueState, workload: Workload, part: Part, charged: _Amounts
) -> Slot | None:
    """Return the flavor that a part fits in, if each before it is ruled out."""
    passed_over: list[list[tuple[Cell, int]]] = []
    for slot in part.slots:
        lacking = [
            (cell, units)
            for name, requested in part.asked.items()
            if (units := charged.get((cell := slot.cells[name]).fr, 0) + requested) > free(cell)
            and units > 0
        ]
        if not lacking:
            is_found = all(_is_ruled_out(context, cq, workload, cells) for cells in passed_over)
            return slot if is_found else None
        passed_over.append(lacking)
    return None


def _is_ruled_out(
    context: DecideContext,
    cq: ClusterQueueState,
    workload: Workload,
    lacking: list[tuple[Cell, int]],
) -> bool:
    """Tell whether evictions cannot give one of the amounts that a flavor lacks."""
    return any(
        not may_suffice(who_asks(context.state, cq, workload, (cell.fr,)), cell, units)
        for cell, units in lacking
    )
