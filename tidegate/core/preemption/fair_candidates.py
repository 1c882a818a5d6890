"""Candidates under fair sharing: the own queue's, and those of queues that shares allow.

Source: behaviour.md 6.4; docs/adr/0013.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from tidegate.core.preemption.bounds import candidate_queues, preemptor_of
from tidegate.core.preemption.candidates import Ranked, candidates_of_queue, order_by_usage
from tidegate.core.preemption.trial import Trial, is_queue_borrowing, may_preempt_for_shares
from tidegate.core.queueing.admission_fair_sharing import orders_by_usage
from tidegate.core.state.cluster_queues import ClusterQueueState


class Remaining:
    """A ClusterQueue's candidates that a search has not taken yet, in order."""

    __slots__ = ("_others", "first")

    def __init__(self, candidates: Iterable[Ranked]) -> None:
        """Hold candidates, each of which is looked at when those before it are taken."""
        self._others = iter(candidates)
        self.first = next(self._others, None)

    def pop(self) -> Ranked:
        """Return the first candidate, and go on to the next; there must be one."""
        assert self.first is not None, "no candidate remains"
        first, self.first = self.first, next(self._others, None)
        return first


def fair_candidates(trial: Trial, *, within: bool) -> dict[str, Remaining]:
    """Return the workloads that may be preempted, by ClusterQueue.

    Args:
        trial: the search; the preemptor's own usage is not in the tree.
        within: the preemptor stays within its ClusterQueue's own quota.
    """
    queues = [trial.cq]
    if not trial.is_limited_to_own_queue:
        others = _other_queues(trial, within=within)
        queues += (other for other in others if is_queue_borrowing(other, trial.needs))
    each = ((cq.name, Remaining(_candidates(trial, cq))) for cq in queues)
    return {name: remaining for name, remaining in each if remaining.first is not None}


def _candidates(trial: Trial, cq: ClusterQueueState) -> Iterable[Ranked]:
    candidates = candidates_of_queue(trial, cq)
    if not orders_by_usage(trial.state, cq.spec):
        return candidates
    return order_by_usage(trial.state, list(candidates), itemgetter(1))


def _other_queues(trial: Trial, *, within: bool) -> list[ClusterQueueState]:
    """Return the other ClusterQueues that may have candidates."""
    state, cq = trial.state, trial.cq
    if cq.spec.preemption.reclaim_within_cohort == "Never":
        return []
    others = [cluster_queue for cluster_queue in cq.tree.cluster_queues if cluster_queue is not cq]
    if within:
        return others
    if not may_preempt_for_shares(state, cq, trial.workload):
        return []
    if not cq.tree.in_cycle:
        return others
    names = candidate_queues(preemptor_of(state, cq, trial.workload, trial.needs), trial.amounts)
    return [other for other in others if other.name in names]
