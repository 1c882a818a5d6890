"""Charges workloads with quota to the ClusterQueues of a forest."""

from __future__ import annotations

from tidegate.core.quota.tree import add_usage
from tidegate.core.state.cluster_queues import ClusterQueueState, Forest
from tidegate.core.state.state import Workload


def charge_workload(trees: Forest, workload: Workload) -> None:
    """Charge a workload that holds quota to its ClusterQueue, if that exists."""
    queue = trees.cluster_queues.get(workload.cluster_queue)
    if queue is None:
        return
    queue.holding[workload.key] = workload
    add_usage(queue.node, workload.charges)
    if workload.phase == "evicting":
        queue.leaving[workload.key] = queue.tree.leaving[workload.key] = workload
    else:
        count_usage_by_priority(queue, workload, 1)


def count_usage_by_priority(queue: ClusterQueueState, workload: Workload, sign: int) -> None:
    """Add (1) or subtract (-1) the usage of a workload that is not being evicted."""
    heads = queue.counts_by_priority.get(workload.priority, 0) + sign
    if heads:
        queue.counts_by_priority[workload.priority] = heads
    else:
        queue.counts_by_priority.pop(workload.priority, None)
    for fr, units in workload.charges:
        sums = queue.usage_by_priority.get(fr)
        if sums is None:
            sums = queue.usage_by_priority[fr] = {}
        remaining = sums.get(workload.priority, 0) + sign * units
        if remaining:
            sums[workload.priority] = remaining
        else:
            sums.pop(workload.priority, None)
