"""The order in which each ClusterQueue lists its pending workloads: the one that positions count.

Source: Kueue's Snapshot of a ClusterQueue; that it lacks workloads in back-off is not followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from tidegate.core.queueing.admissibility import is_listed
from tidegate.core.queueing.heads import offer_key
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State, Workload
from tidegate.replay.simulator.trees import cluster_queue_of


def queue_orders(state: State, queues: Collection[str] | None = None) -> dict[str, list[Workload]]:
    """Return the listed pending workloads of ClusterQueues that exist, first the next offered.

    Workloads that are gated or whose LocalQueue is stopped are not listed. ``queues`` limits them
    to these ClusterQueues; None: all.
    """
    listed = defaultdict[str, list[Workload]](list)
    for workload in workloads_at(state, queues):
        if workload.phase == "pending":
            queue = cluster_queue_of(state, workload)
            if (queues is None or queue in queues) and is_listed(state, workload):
                listed[queue].append(workload)
    existing = state.objects.cluster_queues.keys() & listed.keys()
    trees = forest(state).cluster_queues
    return {
        queue: sorted(listed[queue], key=offer_key(state, trees[queue], listed[queue]))
        for queue in sorted(existing)
    }


def workloads_at(state: State, queues: Collection[str] | None) -> Iterable[Workload]:
    """Return the workloads that wait for ClusterQueues or have quota there, and maybe others.

    It takes a look at each LocalQueue, and none at others' workloads. ``queues`` None: all.
    """
    if queues is None:
        return state.workloads.values()
    keys, trees = dict[str, None](), forest(state).cluster_queues
    for local_queue, workloads in state.by_queue.items():
        if state.objects.queue_of(local_queue) in queues:
            keys |= workloads
    for name in queues:
        if name in trees:  # whose LocalQueue may lead elsewhere by now
            keys |= dict.fromkeys(trees[name].holding)
    return [state.workloads[key] for key in keys]


def positions(state: State, queues: Collection[str] | None = None) -> dict[str, int]:
    """Return the position, from 1, of each workload that ``queue_orders`` lists, by its key."""
    return {
        workload.key: position
        for workloads in queue_orders(state, queues).values()
        for position, workload in enumerate(workloads, 1)
    }
