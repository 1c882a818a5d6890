"""The ledger shown in Kubernetes: the fields of Workloads and queues that are ours."""

from __future__ import annotations

from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent


class NoProjection:
    """Shows nothing; see ``actuator.consume.Learner``."""

    def learn(self, told: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """Take no notice."""

    def begin_anew(self) -> None:
        """Have nothing to forget."""
