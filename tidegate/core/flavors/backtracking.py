"""Searches flavors that fit together, where choosing them podset by podset found none.

Kueue never revises a choice: an early podset may take quota that only a later one needed, and a
flavor with preemption candidates ends the scan although the next one is free. A workload that would
fit without preemption must not wait because of that.
"""

from __future__ import annotations

import msgspec

from tidegate.core.flavors.assignment import assign_flavors
from tidegate.core.flavors.choices import Assignment
from tidegate.core.flavors.fitting import Inputs, no_candidates
from tidegate.core.flavors.parts import parts_of
from tidegate.core.quota.tree import cell_available
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Part

STEPS_MAX = 1_000
"""How many flavors are tried for one workload before the search gives up."""


class _Search(msgspec.Struct, kw_only=True, eq=False):
    """The state of one search."""

    question: Inputs
    parts: list[Part]
    chosen: list[str] = []  # the flavors of the parts so far
    steps: int = 0
    assignment: Assignment | None = None  # the assignment with these flavors


def assign_with_backtracking(
    state: State, cq: ClusterQueueState, workload: Workload
) -> Assignment | None:
    """Return an assignment that fits without preemption with any choice of flavors, or None."""
    parts = parts_of(state, cq, workload)
    if not parts.covered or all(len(part.group.slots) == 1 for part in parts.each):
        return None
    question = Inputs(state=state, workload=workload, cq=cq, oracle=no_candidates, only=None)
    search = _Search(question=question, parts=parts.each)
    return search.assignment if _choose_flavors(search) else None


def _accept_assignment(search: _Search) -> bool:
    """Tell whether the search may end: the chosen flavors fit, nodes included; keep them if so."""
    question = search.question
    only = {
        (podset.name, resource): flavor
        for part, flavor in zip(search.parts, search.chosen, strict=True)
        for podset in part.podsets
        for resource in part.requests
    }
    assignment = assign_flavors(
        question.state, question.workload, oracle=no_candidates, cq=question.cq, only=only
    )
    search.assignment = assignment if assignment.mode == "Fit" else None
    return search.assignment is not None or not (
        question.cq.has_topologies or question.workload.body
    )


def _choose_flavors(search: _Search) -> bool:
    """Choose flavors for the parts that have none yet; tell whether all fit."""
    if len(search.chosen) == len(search.parts):
        return _accept_assignment(search)
    part, assumed = search.parts[len(search.chosen)], search.question.assumed
    for slot in part.slots:
        search.steps += 1
        if search.steps > STEPS_MAX:
            return False
        cells = [(slot.cells[name], units) for name, units in part.requests.items()]
        if any(units and assumed.get(c.fr, 0) + units > cell_available(c) for c, units in cells):
            continue
        for cell, units in cells:
            assumed[cell.fr] = assumed.get(cell.fr, 0) + units
        search.chosen.append(slot.flavor)
        if _choose_flavors(search):
            return True
        search.chosen.pop()
        for cell, units in cells:
            assumed[cell.fr] -= units
    return False
