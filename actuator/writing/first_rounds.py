"""Whether the scheduler has complete lists of a cluster's objects: before that nothing is written.

A Workload that Kueue reserved quota for keeps that as long as no status of Tidegate's replaces it,
and ingest may list the job before the Workload: what was written in between would take it away.
"""

from __future__ import annotations

from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import FactEvent, RoundCompleted, WatchesExpected


class FirstRounds:
    """The first rounds of a ledger, followed by its events."""

    def __init__(self) -> None:
        self.complete = False
        self._expected: frozenset[str] | None = None
        self._completed = set[str]()

    def learn(self, event: FactEvent | DecisionEvent, *, whole: bool) -> bool:
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
