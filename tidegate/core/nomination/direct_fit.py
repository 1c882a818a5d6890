"""Assigns flavors to a workload that fits into unused quota, without a full nomination.

It replaces a nomination where both give the same result: each part of the workload fits into the
first of its flavors that is not ruled out, which is the flavor that nomination would choose.
"""

from __future__ import annotations

from tidegate.core.flavors.assignment import Assignment, assigned
from tidegate.core.flavors.parts import parts_of
from tidegate.core.folding.timing import admission_blocked
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.nomination.proposals import Proposal
from tidegate.core.preemption.bounds import may_suffice, preemptor_of
from tidegate.core.queueing.admissibility import refused
from tidegate.core.quota.tree import Cell, free, level
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Part, Slot
from tidegate.model.ids import FlavorResource

_Amounts = dict[FlavorResource, int]


def direct_fit(context: DecideContext, cq: ClusterQueueState, workload: Workload) -> Nominee | None:
    """Return a workload with the flavors that it fits in without preemption; None: not known.

    It is not known where a borrowing flavor does not end the search, nor where nodes, variants,
    an older slice or clusters matter. The assignment lacks its podsets: see ``with_podsets``.
    """
    state = context.state
    if cq.has_topologies or workload.replaces or workload.variant_of or workload.body:
        return None
    if admission_blocked(state) or refused(state, workload) is not None:
        return None
    parts = parts_of(state, cq, workload)
    if not parts.covered:
        return None
    usage: _Amounts = {}
    borrows, flavors = 0, list[Slot]()
    for part in parts.each:
        slot = _chosen(state, cq, workload, part, usage)
        if slot is None:
            return None
        flavors.append(slot)
        for name, requested in part.requests.items():
            cell = slot.cells[name]
            units = usage[cell.fr] = usage.get(cell.fr, 0) + requested
            borrows = max(borrows, level(cell, units)[0])
    if borrows and cq.spec.fungibility.when_can_borrow == "TryNextFlavor":
        return None
    assignment = Assignment(podsets=[], usage=usage, borrows=borrows)
    proposal = Proposal(assignment=assignment, flavors=flavors)
    return Nominee(workload=workload, cq=cq, borrows=borrows, proposal=proposal)


def with_podsets(state: State, nominee: Nominee, proposal: Proposal) -> Assignment:
    """Return a nominee's assignment with the flavors of each podset filled in."""
    assignment = proposal.assignment
    if proposal.flavors:
        parts = parts_of(state, nominee.cq, nominee.workload)
        chosen = zip(parts.each, proposal.flavors, strict=True)
        assignment.podsets = assigned(state, nominee.cq, nominee.workload, chosen)
    return assignment


def _chosen(
    state: State, cq: ClusterQueueState, workload: Workload, part: Part, charged: _Amounts
) -> Slot | None:
    """Return the first flavor that a part fits in, if all flavors before it are ruled out."""
    passed_over: list[list[tuple[Cell, int]]] = []
    for slot in part.slots:
        lacking = [
            (cell, units)
            for name, requested in part.requests.items()
            if (units := charged.get((cell := slot.cells[name]).fr, 0) + requested) > free(cell)
            and units > 0
        ]
        if not lacking:
            goes_on = cq.spec.fungibility.when_can_preempt == "TryNextFlavor"
            ruled_out = (_is_ruled_out(state, cq, workload, cells) for cells in passed_over)
            return slot if goes_on or all(ruled_out) else None
        passed_over.append(lacking)
    return None


def _is_ruled_out(
    state: State, cq: ClusterQueueState, workload: Workload, lacking: list[tuple[Cell, int]]
) -> bool:
    """Tell whether a flavor lacks an amount that evictions cannot free."""
    return any(
        not may_suffice(preemptor_of(state, cq, workload, (cell.fr,)), cell, units)
        for cell, units in lacking
    )
