"""Which LocalQueues have series of their own: those that exist, and that the selector selects."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.contracts.facts import LocalQueueDefined
from tidegate.core.state.state import Objects
from tidegate.model.podset import selector_matches
from tidegate.service.config.local_queue_metrics import LocalQueueMetrics

ALL = LocalQueueMetrics()


def exposed_queues(chosen: LocalQueueMetrics, objects: Objects) -> Mapping[str, LocalQueueDefined]:
    """Return the LocalQueues with series, by "<namespace>/<name>"; the live dict if all have."""
    if not chosen.enabled:
        return {}
    if not chosen.selector.keys:
        return objects.local_queues
    return {
        key: queue
        for key, queue in objects.local_queues.items()
        if selector_matches(chosen.selector, queue.labels)
    }


class ExposedQueues:
    """The same for one LocalQueue after another, by the newest definitions."""

    def __init__(self, chosen: LocalQueueMetrics) -> None:
        self.enabled = chosen.enabled
        self._selector = chosen.selector
        self._queues: Mapping[str, LocalQueueDefined] = {}

    def update(self, objects: Objects) -> None:
        """Go by these definitions from now on."""
        self._queues = objects.local_queues

    def covers(self, namespace: str, name: str) -> bool:
        """Return whether a LocalQueue has series."""
        queue = self._queues.get(f"{namespace}/{name}")
        return self.enabled and queue is not None and selector_matches(self._selector, queue.labels)
