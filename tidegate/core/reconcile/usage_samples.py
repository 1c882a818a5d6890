"""When what LocalQueues consumed is sampled: see ``tidegate.core.queueing.usage_samples``."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.queueing.usage_samples import FAMILY, sample
from tidegate.core.state import deadlines
from tidegate.core.state.state import State


def sample_usage(state: State) -> Iterator[list[DecisionEvent]]:
    """Tell what the LocalQueues of each ClusterQueue whose time has come have consumed."""
    for cluster_queue in deadlines.due(state, FAMILY):
        yield [sample(state, cluster_queue)]
