"""Candidates under fair sharing: the own queue's, and those of queues that shares allow.

Source: behaviour.md 6.4; docs/adr/0013.
"""

from __future__ import annotations

from tidegate.core.preemption.bounds import candidate_queues, preemptor_of
from tidegate.core.preemption.candidates import candidates_of_queue
from tidegate.core.preemption.trial import Trial, is_queue_borrowing, may_preempt_for_shares
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import Workload


def fair_candidates(trial: Trial, *, within: bool) -> list[Workload]:
    """Return the workloads that may be preempted, in no particular order.

    Args:
        trial: the search; the preemptor's own usage is not in the tree.
        within: the preemptor stays within its ClusterQueue's own quota.
    """
    state, cq, needs = trial.state, trial.cq, trial.needs
    preemption = cq.spec.preemption
    workloads = candidates_of_queue(
        state, cq, trial.workload, needs, preemption.within_cluster_queue
    )
    if preemption.reclaim_within_cohort != "Never" and not trial.is_limited_to_own_queue:
        for other in _other_queues(trial, within=within):
            if is_queue_borrowing(other, needs):
                reclaim = preemption.reclaim_within_cohort
                workloads.extend(candidates_of_queue(state, other, trial.workload, needs, reclaim))
    return workloads


def _other_queues(trial: Trial, *, within: bool) -> list[ClusterQueueState]:
    """Return the other ClusterQueues that may have candidates."""
    state, cq = trial.state, trial.cq
    others = [cluster_queue for cluster_queue in cq.tree.cluster_queues if cluster_queue is not cq]
    if within:
        return others
    if not may_preempt_for_shares(state, cq, trial.workload):
        return []
    if not cq.tree.in_cycle:
        return others
    names = candidate_queues(preemptor_of(state, cq, trial.workload, trial.needs), trial.amounts)
    return [other for other in others if other.name in names]
