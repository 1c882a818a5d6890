"""Candidates under fair sharing: the own queue's, and those of queues that shares allow.

Source: behaviour.md 6.4; docs/adr/0013.
"""

from __future__ import annotations

from tidegate.core.preemption.bounds import givers, preemptor_of
from tidegate.core.preemption.candidates import of_cluster_queue
from tidegate.core.preemption.trial import Trial, may_move_shares, takes_more
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
    workloads = of_cluster_queue(state, cq, trial.workload, needs, preemption.within_cluster_queue)
    if preemption.reclaim_within_cohort != "Never" and not trial.stays_home:
        for other in _others(trial, within=within):
            if takes_more(other, needs):
                reclaim = preemption.reclaim_within_cohort
                workloads.extend(of_cluster_queue(state, other, trial.workload, needs, reclaim))
    return workloads


def _others(trial: Trial, *, within: bool) -> list[ClusterQueueState]:
    """Return the other ClusterQueues that may have candidates."""
    state, cq = trial.state, trial.cq
    others = [cluster_queue for cluster_queue in cq.tree.cluster_queues if cluster_queue is not cq]
    if within:
        return others
    if not may_move_shares(state, cq, trial.workload):
        return []
    if not cq.tree.in_cycle:
        return others
    names = givers(preemptor_of(state, cq, trial.workload, trial.needs), trial.amounts)
    return [other for other in others if other.name in names]
