"""Victims without fair sharing: in the own queue by priority, in others by reclaim rules.

Source: behaviour.md 6.3 and its notes 5; conformance/preemption-classic, preemption-hierarchical.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from tidegate.contracts.decisions import PreemptionReason
from tidegate.core.preemption.candidates import Ranked, candidates_of_queue, order_by_usage
from tidegate.core.preemption.trial import Target, Trial, is_queue_borrowing, is_within_quota
from tidegate.core.quota.tree import Cell, Node, local_available
from tidegate.core.state.cluster_queues import CandidateKey
from tidegate.core.state.state import Workload
from tidegate.model.ids import FlavorResource

_Kind = Literal["hierarchy", "priority", "same"]


class _Candidate(msgspec.Struct, kw_only=True, eq=False):
    """A candidate of the search, and the attempts in which it may be used."""

    workload: Workload
    key: CandidateKey
    kind: _Kind
    reason: PreemptionReason
    lowest_common: Node | None = None  # with the preemptor's queue; None: in that queue
    only_within: bool = False  # unusable in an attempt in which the preemptor borrows


def classic_victims(trial: Trial) -> list[Target]:
    """Return a minimal set of victims in the order of the search; empty: none suffices."""
    others = _cohort_candidates(trial)
    candidates = [*others, *_own_candidates(trial)]
    if not candidates:
        return []
    candidates.sort(key=_order_key)
    candidates = order_by_usage(trial.state, candidates, lambda candidate: candidate.workload)
    for borrowing in _borrowing_attempts(trial, others):
        if targets := _try_candidates(trial, candidates, borrowing=borrowing):
            return targets
    return []


def _order_key(candidate: _Candidate) -> tuple[bool, int, CandidateKey]:
    key = candidate.key
    return key[0], ("hierarchy", "priority", "same").index(candidate.kind), key


def _own_candidates(trial: Trial) -> list[_Candidate]:
    return [
        _Candidate(workload=workload, key=key, kind="same", reason="InClusterQueue")
        for key, workload in candidates_of_queue(trial, trial.cq)
    ]


def _cohort_candidates(trial: Trial) -> list[_Candidate]:
    """Collect candidates from each ancestor's subtree, by whether the preemptor has a claim."""
    node = trial.cq.node
    if node.parent is None or trial.is_limited_to_own_queue:
        return []
    results: list[_Candidate] = []
    remaining = dict(trial.amounts)
    advantage = _fits_subtree_quota(node, remaining)
    below, at = node, node.parent
    while True:
        collected = _collect_candidates(trial, at, below)
        results += (_new_candidate(trial, each, at, advantage=advantage) for each in collected)
        advantage = _fits_subtree_quota(at, remaining) or advantage
        if at.parent is None:
            return results
        below, at = at, at.parent


def _fits_subtree_quota(node: Node, remaining: dict[FlavorResource, int]) -> bool:
    """Tell whether ``remaining`` fits into a node's own quota; subtract the node's local part."""
    fits = True
    for fr, units in remaining.items():
        cell: Cell = node.cells[fr]
        if cell.subtree_quota - cell.usage < units:
            fits = False
        remaining[fr] = max(0, units - local_available(cell))
    return fits


def _collect_candidates(trial: Trial, node: Node, skipped: Node) -> Iterator[Ranked]:
    for child in node.children:
        if child is skipped or is_within_quota(child, trial.needs):
            continue
        if child.is_cohort:
            yield from _collect_candidates(trial, child, skipped)
        elif is_queue_borrowing(cq := trial.state.forest.cluster_queues[child.name], trial.needs):
            yield from candidates_of_queue(trial, cq)


def _new_candidate(trial: Trial, ranked: Ranked, common: Node, *, advantage: bool) -> _Candidate:
    key, workload = ranked
    candidate = _Candidate(
        workload=workload,
        key=key,
        kind="hierarchy",
        reason="InCohortReclamation",
        lowest_common=common,
    )
    if advantage:
        return candidate
    candidate.kind = "priority"
    preemption = trial.cq.spec.preemption
    most = preemption.borrow_max_priority
    candidate.only_within = (
        preemption.borrow_within_cohort == "Never"
        or workload.priority >= trial.workload.priority
        or (most is not None and workload.priority > most)
    )
    if not candidate.only_within:
        candidate.reason = "InCohortReclaimWhileBorrowing"
    return candidate


def _borrowing_attempts(trial: Trial, others: list[_Candidate]) -> list[bool]:
    """Return whether the preemptor may borrow, for each attempt in order."""
    forbidden = trial.cq.spec.preemption.borrow_within_cohort == "Never"
    cells = trial.cq.node.cells
    if not others:
        return [True]
    if forbidden and not all(cells[fr].usage < cells[fr].subtree_quota for fr in trial.needs):
        return [True]
    if forbidden and not any(other.kind == "hierarchy" for other in others):
        return [False, True]
    return [True, False]


def _try_candidates(trial: Trial, candidates: list[_Candidate], *, borrowing: bool) -> list[Target]:
    targets: list[Target] = []
    for candidate in candidates:
        if candidate.lowest_common is not None and _is_excluded(
            trial, candidate, borrowing=borrowing
        ):
            continue
        trial.remove_candidate(candidate.workload)
        queue = candidate.workload.cluster_queue
        targets.append(
            Target(workload=candidate.workload, cluster_queue=queue, reason=candidate.reason)
        )
        if trial.fits(borrowing=borrowing):
            return trial.fill_back(targets, borrowing=borrowing)
    trial.restore_targets(targets)
    return []


def _is_excluded(trial: Trial, candidate: _Candidate, *, borrowing: bool) -> bool:
    """Tell whether another queue's workload is no candidate any more, in this attempt."""
    if borrowing and candidate.only_within:
        return True
    if not is_queue_borrowing(
        trial.state.forest.cluster_queues[candidate.workload.cluster_queue], trial.needs
    ):
        return True
    node: Node | None = trial.node(candidate.workload)
    while node is not None and node is not candidate.lowest_common:
        if is_within_quota(node, trial.needs):
            return True
        node = node.parent
    return False
