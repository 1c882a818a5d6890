"""Workloads that wait since they were preempted, and which others of their queue they hold back.

Source: docs/adr/0032.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.scheduling_queue import invalidate_tree
from tidegate.core.state.state import State, Workload


def add_displaced(state: State, cq: ClusterQueueState, workload: Workload) -> None:
    """Note that a workload waits in a ClusterQueue since it was preempted."""
    if workload.displaced_seq and state.scan.forbids_moving_back:
        insort(cq.displaced.setdefault(workload.priority, []), workload.displaced_seq)


def drop_displaced(state: State, cq: ClusterQueueState, workload: Workload) -> None:
    """Note that a workload waits no more, or not as it did.

    Others that it held back may preempt for shares again.
    """
    seq = workload.displaced_seq
    if not seq:
        return
    for priority, seqs in cq.displaced.items():
        at = bisect_left(seqs, seq)  # its own priority may have changed since
        if at < len(seqs) and seqs[at] == seq:
            del seqs[at]
            if not seqs:
                del cq.displaced[priority]
            break
    if state.policy.fair_sharing and state.scan.forbids_moving_back:
        invalidate_tree(state, cq.tree)


def is_held_back(cq: ClusterQueueState, priority: int) -> bool:
    """Tell whether workloads of a priority may preempt none for shares, for one that is displaced.

    They may not while a displaced workload of higher priority may not: it would preempt them at
    home as soon as they started, so they would only move others in its place. It counts from its
    preemption on, while its pods stop, too. Costs O(workloads of the ClusterQueue that stop).
    """
    for at, seqs in cq.displaced.items():
        if at > priority and _may_not_move(cq, seqs[-1]):
            return True
    return any(
        workload.priority > priority
        and workload.displaced_seq
        and _may_not_move(cq, workload.displaced_seq)
        for workload in cq.leaving.values()
    )


def _may_not_move(cq: ClusterQueueState, displaced_seq: int) -> bool:
    return cq.outside_seq <= max(displaced_seq, cq.moved_seq)
