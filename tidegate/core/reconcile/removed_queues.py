"""ClusterQueues that are gone while somebody runs there: their quota lasts until that one stops.

Source: docs/adr/0012; Kueue holds the object back with a finalizer until then (behaviour.md 8.9).
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import ClusterQueueReleased, DecisionEvent
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State


def release_removed(state: State) -> Iterator[list[DecisionEvent]]:
    """Let the quota of each ClusterQueue that is gone go, once it is charged for nobody."""
    for name in list(state.objects.removed_queues):
        if not forest(state).cluster_queues[name].holding:
            yield [ClusterQueueReleased(at_us=state.now_us, cluster_queue=name)]
    forest(state)  # the rules that follow look at it as it is
