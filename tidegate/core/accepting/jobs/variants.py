"""What happened to a job with variants happened to these too: each fact is told of them as well.

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
from tidegate.core.queueing.variants import PREEMPTION_GATE, variants
from tidegate.core.quota.forest import HOLDING
from tidegate.core.state.state import State, Workload


def spread(state: State, facts: Iterable[FactEvent]) -> Iterator[FactEvent]:
    """Yield facts, each with what it means for variants of the workload that it is about."""
    for fact in facts:
        parent = state.workloads.get(fact.workload) if isinstance(fact, WorkloadFact) else None
        if parent is None or not parent.variants or parent.uid != getattr(fact, "uid", ""):
            yield fact
            continue
        family = variants(state, parent)
        yield fact
        for one in family:
            told = _told(one, fact)
            if told is not None:
                yield told


def _told(one: Workload, fact: FactEvent) -> FactEvent | None:
    about = {"workload": one.key, "uid": one.uid}
    match fact:
        case WorkloadFinished() if one.phase != "finished":
            return replace(fact, variant_of=one.parent, **about)
        case WorkloadRemoved() | PodsReclaimed():
            return replace(fact, **about)
        case WorkloadChanged():
            return _changed(one, fact)
        case WorkloadStopped() | JobStateReported() | PodsReadyReported() | ActuationFailed() if (
            one.phase in HOLDING
        ):
            return replace(fact, **about)
        case _:
            return None


def _changed(one: Workload, fact: WorkloadChanged) -> WorkloadChanged:
    closed = PREEMPTION_GATE in one.preemption_gates
    gates = fact.preemption_gates
    return replace(
        fact,
        workload=one.key,
        uid=one.uid,
        allowed_flavors=one.allowed_flavors,
        preemption_gates=(*gates, PREEMPTION_GATE) if closed else gates,
        family=False,
        held_quota=False,
        held_places={},
    )
