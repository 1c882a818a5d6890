"""What an actuator may write: what is its partition's, once the first lists are complete.

A Workload that Kueue reserved quota for keeps that as long as no status of Tidegate's replaces it,
and ingest may list the job before the Workload: what was written in between would take it away.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    ClusterQueueRemoved,
    LocalQueueDefined,
    QueueElsewhere,
)
from tidegate.contracts.facts import FactEvent, RoundCompleted, WatchesExpected
from tidegate.jobs.kind import Object


class OwnQueues:
    """Which ClusterQueues are the partition's, and which are known to be others'.

    What leads nowhere is partition 0's, as in ``tidegate.core.accepting.relevance``.
    """

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self._own, self._others = set[str](), set[str]()

    def apply_event(self, event: FactEvent | DecisionEvent) -> None:
        """Take in one entry of the partition's ledger."""
        match event:
            case ClusterQueueDefined():
                self._others.discard(event.name)
                self._own.add(event.name)
            case QueueElsewhere():
                self._own.discard(event.name)
                self._others.add(event.name)
            case ClusterQueueRemoved():
                self._own.discard(event.name)
                self._others.discard(event.name)
            case _:
                pass

    def note_partition(self, cluster_queue: str, number: int) -> bool:
        """Take in what a ClusterQueue says that EVENTS may have lost; return whether it is ours."""
        if cluster_queue not in self._own and cluster_queue not in self._others:
            (self._own if number == self.number else self._others).add(cluster_queue)
        return cluster_queue in self._own

    def is_own(self, cluster_queue: str) -> bool:
        """Return whether what leads to a ClusterQueue of that name, or of none, is ours."""
        if self.number:
            return cluster_queue in self._own
        return cluster_queue not in self._others

    def is_own_workload(
        self, workload: Object, local_queues: Mapping[str, LocalQueueDefined]
    ) -> bool:
        """Return whether a Workload object stands in one of the partition's queues."""
        spec = workload.get("spec")  # which may be anything, where no schema is checked
        queue = spec.get("queueName", "") if isinstance(spec, dict) else ""
        defined = local_queues.get(f"{workload['metadata']['namespace']}/{queue}")
        return self.is_own("" if defined is None else defined.spec.cluster_queue)


class FirstRounds:
    """The first rounds of a ledger, followed by its events."""

    def __init__(self) -> None:
        self.complete = False
        self._expected: frozenset[str] | None = None
        self._completed = set[str]()

    def apply_event(self, event: FactEvent | DecisionEvent, *, whole: bool) -> bool:
        """Return whether an event completes them; ``whole``: EVENTS has its beginning.

        A decision proves it, for none is made before, and so does a beginning that was lost.
        """
        if self.complete:
            return False
        if isinstance(event, WatchesExpected):
            self._expected = frozenset(event.resources)
        if isinstance(event, RoundCompleted):
            self._completed.add(event.resource)
        listed = self._expected is not None and self._expected <= self._completed
        self.complete = listed or not whole or isinstance(event, DecisionEvent)
        return self.complete
