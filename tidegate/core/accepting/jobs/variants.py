"""Applies facts about a job with variants to these, too: a fact for each.

Source: behaviour.md 14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from tidegate.contracts.facts import (
    ActuationFailed,
    FactEvent,
    JobStateReported,
    PodsReadyReported,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadFact,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadStopped,
)
from tidegate.contracts.phases import HOLDING
from tidegate.core.queueing.variants import PREEMPTION_GATE, variants
from tidegate.core.state.state import State, Workload


def spread(state: State, facts: Iterable[FactEvent]) -> Iterator[FactEvent]:
    """Yield facts, and after a fact about a parent the facts about its variants."""
    for fact in facts:
        parent = state.workloads.get(fact.workload) if isinstance(fact, WorkloadFact) else None
        if parent is None or not parent.variants or parent.uid != getattr(fact, "uid", ""):
            yield fact
            continue
        family = variants(state, parent)
        yield fact
        for workload in family:
            variant_fact = _variant_fact(workload, fact)
            if variant_fact is not None:
                yield variant_fact


def _variant_fact(workload: Workload, fact: FactEvent) -> FactEvent | None:
    about = {"workload": workload.key, "uid": workload.uid}
    match fact:
        case WorkloadFinished() if workload.phase != "finished":
            return replace(fact, variant_of=workload.parent, **about)
        case WorkloadRemoved() | PodsReclaimed():
            return replace(fact, **about)
        case WorkloadChanged():
            return _changed(workload, fact)
        case WorkloadStopped() | JobStateReported() | PodsReadyReported() | ActuationFailed() if (
            workload.phase in HOLDING
        ):
            return replace(fact, **about)
        case _:
            return None


def _changed(workload: Workload, fact: WorkloadChanged) -> WorkloadChanged:
    closed = PREEMPTION_GATE in workload.preemption_gates
    gates = fact.preemption_gates
    return replace(
        fact,
        workload=workload.key,
        uid=workload.uid,
        allowed_flavors=workload.allowed_flavors,
        preemption_gates=(*gates, PREEMPTION_GATE) if closed else gates,
        family=False,
        held_quota=False,
        held_places={},
    )
