"""Proposes flavors, victims, or fewer pods for one workload.

Source: behaviour.md 3.1 (assignment procedure), 7.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidegate.core.flavors.assignment import Assignment, assign
from tidegate.core.flavors.backtracking import fit_anywhere
from tidegate.core.flavors.choices import ask_unasked
from tidegate.core.preemption.search import oracle, place_without, targets
from tidegate.core.preemption.trial import Target
from tidegate.core.quota.charging import count
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Slot
from tidegate.model.gates import gate


class Proposal(msgspec.Struct, kw_only=True, eq=False):
    """An assignment and the workloads that must be preempted for it."""

    assignment: Assignment
    targets: list[Target] = []
    flavors: list[Slot] = []  # of the workload's parts, where its podsets are not written down yet

    @property
    def works(self) -> bool:
        """Tell whether the assignment fits, or would once its targets have left."""
        return self.assignment.mode == "Fit" or bool(self.targets)


def propose(
    state: State, cq: ClusterQueueState, workload: Workload, scan: tuple[dict[str, int], ...] = ()
) -> Proposal:
    """Return the best proposal: all pods, with or without preemption, before fewer pods."""
    full = _propose(state, cq, workload, scan=scan)
    if not full.works and state.scan.looks_back:
        elsewhere = fit_anywhere(state, cq, workload)
        if elsewhere is not None:
            return Proposal(assignment=elsewhere)
    if full.works or not gate(state.policy, "PartialAdmission"):
        return full
    return _fewer(state, cq, workload, scan=scan) or full


def propose_again(
    state: State, cq: ClusterQueueState, workload: Workload, before: Assignment
) -> Proposal:
    """Propose the flavors of ``before`` again on the tree as it is now: all pods, then fewer."""
    only = {
        (podset.name, resource): choice.flavor
        for podset in before.podsets
        for resource, choice in podset.choices.items()
    }
    full = _propose(state, cq, workload, only=only)
    if full.works or not gate(state.policy, "PartialAdmission"):
        return full
    return _fewer(state, cq, workload, only=only) or full


def _propose(  # noqa: PLR0913 - passed on as they are
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    *,
    scan: tuple[dict[str, int], ...] = (),
    counts: tuple[int, ...] | None = None,
    only: Mapping[tuple[str, str], str] | None = None,
) -> Proposal:
    ask, spares = oracle(state, cq, workload), state.scan.looks_back and not workload.body
    assignment = assign(
        state, workload, oracle=ask, cq=cq, counts=counts, only=only, scan=scan, spares=spares
    )
    if assignment.mode != "Preempt":
        return Proposal(assignment=assignment)
    victims = targets(state, workload, assignment, cq=cq)
    if victims:
        ask_unasked(ask, assignment)
    if assignment.seats or any(podset.topology_flavor for podset in assignment.podsets):
        place_without(state, workload, assignment, victims)
    return Proposal(assignment=assignment, targets=victims)


def _fewer(
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    *,
    scan: tuple[dict[str, int], ...] = (),
    only: Mapping[tuple[str, str], str] | None = None,
) -> Proposal | None:
    """Search the smallest reduction of pod counts that works, down to the podsets' minimums."""
    full = [count(workload, podset) for podset in workload.podsets]
    spare = [
        max(0, pods - podset.min_count) if podset.min_count is not None else 0
        for pods, podset in zip(full, workload.podsets, strict=True)
    ]
    total = sum(spare)
    if total == 0:
        return None
    proposals: dict[int, Proposal] = {}
    low, high = 0, total + 1  # below low nothing works; high: the smallest that does, if any
    while low < high:
        step = (low + high) // 2
        counts = tuple(n - d * step // total for n, d in zip(full, spare, strict=True))
        proposal = _propose(state, cq, workload, scan=scan, counts=counts, only=only)
        if proposal.works:
            proposals[step], high = proposal, step
        else:
            low = step + 1
    return proposals.get(low)
