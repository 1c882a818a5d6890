"""The property that ends every circle of preemptions, checked on a journal of events.

Between a preemption and the next admission of one of its victims, the preemptor was admitted, or it
was deleted, changed or stopped, or quota changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.contracts import facts
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReserved,
    WorkloadDeactivated,
    WorkloadPreempted,
)
from tidegate.contracts.facts import FactEvent

_QUOTA_CHANGES = (
    facts.ClusterQueueDefined,
    facts.ClusterQueueRemoved,
    facts.CohortDefined,
    facts.CohortRemoved,
    facts.FlavorDefined,
    facts.FlavorRemoved,
    facts.LocalQueueDefined,
    facts.LocalQueueRemoved,
    facts.PolicyConfigured,
)
_PREEMPTOR_CHANGES = (
    facts.WorkloadRemoved,
    facts.WorkloadChanged,
    facts.WorkloadFinished,
    WorkloadDeactivated,
)


def circles(journal: Iterable[FactEvent | DecisionEvent]) -> Iterator[str]:
    """Yield each admission of a victim whose preemptor had not had its turn."""
    owed: dict[str, set[str]] = {}  # victim to preemptors that it has made room for
    for event in journal:
        if isinstance(event, _QUOTA_CHANGES):
            owed.clear()
        elif isinstance(event, QuotaReserved):
            for preemptor in sorted(owed.pop(event.workload, ())):
                yield f"{event.workload} came back before {preemptor}, which had preempted it"
            _forgive(owed, event.workload)
        elif isinstance(event, _PREEMPTOR_CHANGES):
            _forgive(owed, event.workload)
        if isinstance(event, WorkloadPreempted):
            owed.setdefault(event.workload, set()).add(event.by)


def _forgive(owed: dict[str, set[str]], preemptor: str) -> None:
    for preemptors in owed.values():
        preemptors.discard(preemptor)
