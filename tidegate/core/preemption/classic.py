"""Victims without fair sharing: the own queue's by priority, other queues' by who may reclaim.

Source: behaviour.md 6.3 and its notes 5; conformance/preemption-classic, preemption-hierarchical.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tidegate.contracts.decisions import PreemptionReason
from tidegate.core.preemption.candidates import CandidateKey, of_room
from tidegate.core.preemption.trial import Target, Trial, takes_more, within_quota
from tidegate.core.quota.tree import Cell, Node, kept_free
from tidegate.core.state.state import Workload
from tidegate.model.ids import FlavorResource

_Kind = Literal["hierarchy", "priority", "same"]


class _Candidate(msgspec.Struct, kw_only=True, eq=False):
    """Somebody who may be tried, and how."""

    workload: Workload
    kind: _Kind
    reason: PreemptionReason
    lowest_common: Node | None = None  # with the preemptor's ClusterQueue; None: its own
    only_within: bool = False  # unusable in an attempt in which the preemptor borrows


def classic(trial: Trial) -> list[Target]:
    """Return a minimal set of victims in the order of the search, or nobody."""
    others = _others(trial)
    candidates = [*others, *_same(trial)]
    if not candidates:
        return []
    candidates.sort(key=lambda one: _place(trial, one))
    for borrowing in _attempts(trial, others):
        if found := _attempt(trial, candidates, borrowing=borrowing):
            return found
    return []


def _place(trial: Trial, one: _Candidate) -> tuple[bool, int, CandidateKey]:
    key = trial.key(one.workload)
    return key[0], ("hierarchy", "priority", "same").index(one.kind), key


def _same(trial: Trial) -> list[_Candidate]:
    cq = trial.cq
    rule = cq.spec.preemption.within_cluster_queue
    found = of_room(trial.state, cq, trial.workload, trial.needs, rule)
    return [_Candidate(workload=one, kind="same", reason="InClusterQueue") for one in found]


def _others(trial: Trial) -> list[_Candidate]:
    """Collect from each ancestor's subtree, told apart by whether the preemptor has a claim."""
    node, rule = trial.cq.node, trial.cq.spec.preemption.reclaim_within_cohort
    if node.parent is None or rule == "Never" or trial.stays_home:
        return []
    found: list[_Candidate] = []
    remaining = dict(trial.amounts)
    advantage = _claims(node, remaining)
    below, at = node, node.parent
    while True:
        collected = _collect(trial, at, below, rule)
        found += [_candidate(trial, one, at, advantage=advantage) for one in collected]
        advantage = _claims(at, remaining) or advantage
        if at.parent is None:
            return found
        below, at = at, at.parent


def _claims(node: Node, remaining: dict[FlavorResource, int]) -> bool:
    """Tell whether what remains fits a node's own quota; take off what the node keeps for it."""
    fits = True
    for fr, units in remaining.items():
        cell: Cell = node.cells[fr]
        if cell.quota - cell.usage < units:
            fits = False
        remaining[fr] = max(0, units - kept_free(cell))
    return fits


def _collect(trial: Trial, node: Node, skipped: Node, rule: str) -> list[Workload]:
    found: list[Workload] = []
    for child in node.children:
        if child is skipped or within_quota(child, trial.needs):
            continue
        if child.is_cohort:
            found.extend(_collect(trial, child, skipped, rule))
        elif takes_more(cq := trial.state.forest.cluster_queues[child.name], trial.needs):
            found.extend(of_room(trial.state, cq, trial.workload, trial.needs, rule))
    return found


def _candidate(trial: Trial, one: Workload, common: Node, *, advantage: bool) -> _Candidate:
    made = _Candidate(
        workload=one, kind="hierarchy", reason="InCohortReclamation", lowest_common=common
    )
    if advantage:
        return made
    made.kind = "priority"
    preemption = trial.cq.spec.preemption
    most = preemption.borrow_max_priority
    made.only_within = (
        preemption.borrow_within_cohort == "Never"
        or one.priority >= trial.workload.priority
        or (most is not None and one.priority > most)
    )
    if not made.only_within:
        made.reason = "InCohortReclaimWhileBorrowing"
    return made


def _attempts(trial: Trial, others: list[_Candidate]) -> list[bool]:
    """Return whether the preemptor may borrow, for each attempt in order."""
    forbidden = trial.cq.spec.preemption.borrow_within_cohort == "Never"
    cells = trial.cq.node.cells
    if not others:
        return [True]
    if forbidden and not all(cells[fr].usage < cells[fr].quota for fr in trial.needs):
        return [True]
    if forbidden and not any(one.kind == "hierarchy" for one in others):
        return [False, True]
    return [True, False]


def _attempt(trial: Trial, candidates: list[_Candidate], *, borrowing: bool) -> list[Target]:
    targets: list[Target] = []
    for one in candidates:
        if one.lowest_common is not None and _is_spared(trial, one, borrowing=borrowing):
            continue
        trial.take_out(one.workload)
        queue = one.workload.cluster_queue
        targets.append(Target(workload=one.workload, cluster_queue=queue, reason=one.reason))
        if trial.fits(borrowing=borrowing):
            return trial.fill_back(targets, borrowing=borrowing)
    trial.restore(targets)
    return []


def _is_spared(trial: Trial, one: _Candidate, *, borrowing: bool) -> bool:
    """Tell whether another queue's workload has become no candidate since it was collected."""
    if borrowing and one.only_within:
        return True
    if not takes_more(trial.state.forest.cluster_queues[one.workload.cluster_queue], trial.needs):
        return True
    node: Node | None = trial.node(one.workload)
    while node is not None and node is not one.lowest_common:
        if within_quota(node, trial.needs):
            return True
        node = node.parent
    return False
