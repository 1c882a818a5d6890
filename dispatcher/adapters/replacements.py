"""Slices of elastic jobs by the ledger: which replaces which, and for how many pods.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decision_kinds.clusters import ClusterChosen
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import (
    FactEvent,
    LedgerOpened,
    WorkloadChanged,
    WorkloadRemoved,
    WorkloadSubmitted,
)


class Slices:
    """Workloads of elastic jobs, folded from EVENTS."""

    def __init__(self) -> None:
        self._counts = dict[str, dict[str, int]]()  # by workload, pods by podset
        self._successor = dict[str, str]()  # workload to that which took its place on its cluster
        self._older = dict[str, str]()  # the same, the other way

    def apply_event(self, event: FactEvent | DecisionEvent) -> None:
        """Fold one event."""
        match event:
            case LedgerOpened():
                for each in (self._counts, self._successor, self._older):
                    each.clear()
            case WorkloadSubmitted() | WorkloadChanged() if event.elastic:
                counts = {podset.name: podset.count for podset in event.podsets}
                self._counts[event.workload] = counts
            case WorkloadSubmitted() | WorkloadRemoved():
                self._forget(event.workload)
            case ClusterChosen() if event.replaces:
                self._successor[event.replaces] = event.workload
                self._older[event.workload] = event.replaces
            case _:
                pass

    def counts_of(self, workload: str, *successors: str) -> dict[str, int]:
        """Return how many pods a slice may have; empty: nothing is known.

        Until another one takes its place it becomes no larger than that.
        """
        sizes = [counts for key in (workload, *successors) if (counts := self._counts.get(key))]
        if not sizes:
            return {}
        return {name: min(counts.get(name, 0) for counts in sizes) for name in sizes[0]}

    def successors(self, workload: str) -> Iterator[str]:
        """Yield the slices that replaced a slice, one after the other."""
        return _chain(workload, self._successor)

    def sibling_slices(self, workload: str) -> Iterator[str]:
        """Yield the other slices of its job, as far as they were sent to one cluster."""
        yield from _chain(workload, self._older)
        yield from _chain(workload, self._successor)

    def _forget(self, workload: str) -> None:
        self._counts.pop(workload, None)
        self._successor.pop(self._older.pop(workload, ""), None)


def _chain(key: str, following: dict[str, str]) -> Iterator[str]:
    passed = {key}
    while (key := following.get(key, "")) and key not in passed:
        passed.add(key)
        yield key
