"""Samples LocalQueues' consumed usage when due: see ``core.queueing.usage_samples``."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.queueing.usage_samples import FAMILY, sample
from tidegate.core.state import deadlines
from tidegate.core.state.state import State


def sample_usage(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield a sample of the LocalQueues of each ClusterQueue for which one is due."""
    for cluster_queue in deadlines.due(state, FAMILY):
        yield [sample(state, cluster_queue)]
