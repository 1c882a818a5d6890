"""Nominates each ClusterQueue's head: admissibility, flavors, victims or fewer pods, on one tree.

``direct_fit`` replaces ``nominate`` where both give the same result: each part of the workload fits
into the first of its flavors that is not ruled out, which is the flavor that nomination would
choose.

Source: behaviour.md 1 (admissibility), 3.1 (assignment procedure), 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from tidegate.contracts.decisions import PendingReason
from tidegate.core.flavors.assignment import assign_flavors, choices_from_slots
from tidegate.core.flavors.backtracking import assign_with_backtracking
from tidegate.core.flavors.choices import Assignment, call_spared_oracle
from tidegate.core.flavors.parts import parts_of
from tidegate.core.folding.workload_deadlines import is_admission_blocked
from tidegate.core.nomination.decide_context import DecideContext, Scan
from tidegate.core.preemption.bounds import may_fit_after_evictions, preemptor_of
from tidegate.core.preemption.search import VictimSearch, place_without_targets
from tidegate.core.preemption.trial import Target
from tidegate.core.queueing.admissibility import NAMESPACE_MISMATCH, nomination_blocker
from tidegate.core.quota.charging import pod_count
from tidegate.core.quota.tree import Cell, cell_available, lowest_fitting_height
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import Intent, State, Workload
from tidegate.core.state.workload import Part, Slot
from tidegate.model.gates import gate_enabled
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet

Outcome = Literal[
    "admitted",
    "preempting",
    "no fit",
    "no candidates",
    "gated",
    "deferred",
    "skipped",
    "refused",  # it may not be admitted at all
    "elsewhere",  # its namespace may not use the ClusterQueue
]
"""How a cycle ended for a head; behaviour.md 2.4 calls it the requeue reason."""


class Entry(msgspec.Struct, kw_only=True, eq=False):
    """The fields that order a cycle's entries; ``Nominee`` adds the others."""

    workload: Workload
    borrows: int = 0  # height of the smallest cohort subtree that holds it; 0: own quota
    is_preemptor: bool = False  # it preempted before and waits for its victims


class Nominee(Entry, kw_only=True, eq=False):
    """A ClusterQueue's head in one cycle."""

    cq: ClusterQueueState
    proposal: Proposal | None = None  # None: it may not be admitted
    intent: Intent | None = None  # its victims have left: it can start on their quota now
    outcome: Outcome = "skipped"
    reason: PendingReason = "WaitingForQuota"
    details: str = ""  # in words; empty: the flavors tried say it

    @property
    def usage(self) -> dict[FlavorResource, int]:
        """Return what the head would be charged."""
        return {} if self.proposal is None else self.proposal.assignment.usage


class Proposal(msgspec.Struct, kw_only=True, eq=False):
    """An assignment and the workloads that must be preempted for it."""

    assignment: Assignment
    targets: list[Target] = []
    flavors: list[Slot] = []  # of the workload's parts, where its podsets are not written down yet

    @property
    def is_feasible(self) -> bool:
        """Tell whether the assignment fits, or would once its targets have left."""
        return self.assignment.mode == "Fit" or bool(self.targets)


_Amounts = dict[FlavorResource, int]


def nominate(state: State, cq: ClusterQueueState, workload: Workload, scan: Scan = ()) -> Nominee:
    """Return a workload's proposal, or its reason to wait; changes nothing."""
    nominee = Nominee(workload=workload, cq=cq)
    if _is_admissible(state, workload, nominee):
        nominee.proposal = propose(state, cq, workload, scan)
        nominee.borrows = nominee.proposal.assignment.borrows
        nominee.is_preemptor = state.sticky.get(cq.name) == workload.key
    return nominee


def resumed_scan(context: DecideContext, cq: ClusterQueueState, workload: Workload) -> Scan:
    """Return where a workload's flavor scan resumes, as Kueue's does; empty if outdated."""
    scan, cycle, seq = context.scanned.get(workload.key, workload.scan) or ((), 0, 0)
    policy = context.state.policy
    preserved = gate_enabled(policy, "FlavorFungibilityPreserveScanProgress")
    if preserved and cycle >= context.cycle - 1:
        return scan
    return scan if seq >= context.state.generations.get(cq.name, 0) else ()


def _is_admissible(state: State, workload: Workload, nominee: Nominee) -> bool:
    """Tell whether a workload may be admitted at all; if not, set the nominee's reason."""
    barrier = nomination_blocker(state, workload)
    if barrier is None:
        return True
    nominee.outcome = "elsewhere" if barrier.code == NAMESPACE_MISMATCH else "refused"
    nominee.reason, nominee.details = barrier.reason, barrier.details
    return False


def propose(
    state: State, cq: ClusterQueueState, workload: Workload, scan: tuple[dict[str, int], ...] = ()
) -> Proposal:
    """Return the best proposal: all pods, with or without preemption, before fewer pods."""
    full = _propose_once(state, cq, workload, scan=scan)
    if not full.is_feasible and state.scan.backtracks:
        elsewhere = assign_with_backtracking(state, cq, workload)
        if elsewhere is not None:
            return Proposal(assignment=elsewhere)
    if full.is_feasible or not gate_enabled(state.policy, "PartialAdmission"):
        return full
    return _propose_fewer_pods(state, cq, workload, scan=scan) or full


def propose_again(
    state: State, cq: ClusterQueueState, workload: Workload, before: Assignment
) -> Proposal:
    """Propose the flavors of ``before`` again on the tree as it is now: all pods, then fewer."""
    only = {
        (podset.name, resource): choice.flavor
        for podset in before.podsets
        for resource, choice in podset.choices.items()
    }
    full = _propose_once(state, cq, workload, only=only)
    if full.is_feasible or not gate_enabled(state.policy, "PartialAdmission"):
        return full
    return _propose_fewer_pods(state, cq, workload, only=only) or full


def _propose_once(  # noqa: PLR0913 - passed on as they are
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    *,
    scan: tuple[dict[str, int], ...] = (),
    counts: tuple[int, ...] | None = None,
    only: Mapping[tuple[str, str], str] | None = None,
) -> Proposal:
    search = VictimSearch(state=state, cq=cq, workload=workload)
    ask, spares = search.oracle, state.scan.backtracks and not workload.body
    assignment = assign_flavors(
        state, workload, oracle=ask, cq=cq, counts=counts, only=only, scan=scan, spares=spares
    )
    if assignment.mode != "Preempt":
        return Proposal(assignment=assignment)
    victims = search.targets(assignment)
    if victims:
        call_spared_oracle(ask, assignment)
    if assignment.seats or any(podset.topology_flavor for podset in assignment.podsets):
        place_without_targets(state, workload, assignment, victims)
    return Proposal(assignment=assignment, targets=victims)


def _propose_fewer_pods(
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    *,
    scan: tuple[dict[str, int], ...] = (),
    only: Mapping[tuple[str, str], str] | None = None,
) -> Proposal | None:
    """Search the smallest reduction of pod counts that works, down to the podsets' minimums."""
    full = [_initial_pod_count(state, workload, podset) for podset in workload.podsets]
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
        proposal = _propose_once(state, cq, workload, scan=scan, counts=counts, only=only)
        if proposal.is_feasible:
            proposals[step], high = proposal, step
        else:
            low = step + 1
    return proposals.get(low)


def _initial_pod_count(state: State, workload: Workload, podset: PodSet) -> int:
    """Return the pods with which the search for fewer begins.

    Kueue's begins with finished pods, too, unless all have: once admitted, these are not charged.
    """
    pods = pod_count(workload, podset)
    return podset.count if pods and not state.scan.backtracks else pods


def direct_fit(context: DecideContext, cq: ClusterQueueState, workload: Workload) -> Nominee | None:
    """Return a workload with the flavors that it fits in without preemption; None: not known.

    It is not known where a borrowing flavor does not end the search, nor where nodes, variants,
    an older slice or clusters matter. The assignment lacks its podsets: see ``with_podsets``.
    """
    state = context.state
    if cq.has_topologies or workload.replaces or workload.variant_of or workload.body:
        return None
    if is_admission_blocked(state) or nomination_blocker(state, workload) is not None:
        return None
    parts = parts_of(state, cq, workload)
    if not parts.covered:
        return None
    usage: _Amounts = {}
    borrows, flavors = 0, list[Slot]()
    for part in parts.each:
        slot = _first_fitting_slot(state, cq, workload, part, usage)
        if slot is None:
            return None
        flavors.append(slot)
        for name, requested in part.requests.items():
            cell = slot.cells[name]
            units = usage[cell.fr] = usage.get(cell.fr, 0) + requested
            borrows = max(borrows, lowest_fitting_height(cell, units)[0])
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
        assignment.podsets = choices_from_slots(state, nominee.cq, nominee.workload, chosen)
    return assignment


def _first_fitting_slot(
    state: State, cq: ClusterQueueState, workload: Workload, part: Part, charged: _Amounts
) -> Slot | None:
    """Return the first flavor that a part fits in, if all flavors before it are ruled out."""
    passed_over: list[list[tuple[Cell, int]]] = []
    for slot in part.slots:
        lacking = [
            (cell, units)
            for name, requested in part.requests.items()
            if (units := charged.get((cell := slot.cells[name]).fr, 0) + requested)
            > cell_available(cell)
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
        not may_fit_after_evictions(preemptor_of(state, cq, workload, (cell.fr,)), cell, units)
        for cell, units in lacking
    )
