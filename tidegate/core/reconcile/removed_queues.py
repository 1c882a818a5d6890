"""Deleted ClusterQueues whose workloads still run: their quota counts until the last one stops.

Source: docs/adr/0012; Kueue keeps the object until then by a finalizer (behaviour.md 8.9).
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import ClusterQueueReleased, DecisionEvent
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State


def release_removed(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield the release of each deleted ClusterQueue to which no workload is charged any more."""
    for name in list(state.objects.removed_queues):
        if not forest(state).cluster_queues[name].holding:
            yield [ClusterQueueReleased(at_us=state.now_us, cluster_queue=name)]
    forest(state)  # rebuilt for the rules that follow
