"""Workloads that wait since they were preempted, and which others of their queue they hold back.

Source: docs/adr/0032.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.scheduling_queue import invalidate_tree
from tidegate.core.state.state import State, Workload


def add_displaced(state: State, cq: ClusterQueueState, workload: Workload) -> None:
    """Note that a workload waits in a ClusterQueue, or leaves it, since it was preempted."""
    if workload.displaced_seq and state.scan.forbids_moving_back:
        insort(cq.displaced.setdefault(workload.priority, []), workload.displaced_seq)


def drop_displaced(state: State, cq: ClusterQueueState, workload: Workload) -> None:
    """Note that a workload waits no more, or not as it did; does nothing if it was not noted.

    Others that it held back may preempt for shares again.
    """
    seq = workload.displaced_seq
    for priority, seqs in cq.displaced.items() if seq else ():
        at = bisect_left(seqs, seq)  # its own priority may have changed since
        if at == len(seqs) or seqs[at] != seq:
            continue
        del seqs[at]
        if not seqs:
            del cq.displaced[priority]
        if state.policy.fair_sharing:
            invalidate_tree(state, cq.tree)
        return


def is_held_back(cq: ClusterQueueState, priority: int) -> bool:
    """Tell whether workloads of a priority may preempt none for shares, for one that is displaced.

    They may not while a displaced workload of higher priority may not: it would preempt them at
    home as soon as they started, so they would only move others in its place.
    """
    for at, seqs in cq.displaced.items():
        if at > priority and cq.outside_seq <= max(seqs[-1], cq.moved_seq):
            return True
    return False
