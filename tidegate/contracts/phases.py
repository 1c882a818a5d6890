"""The phase of a workload, and the phase that follows from each event of the ledger.

The core keeps phases in its state; readers of events alone compute them here. A test checks that
both agree.
"""

from __future__ import annotations

from typing import Literal

from tidegate.contracts.decisions import (
    QuotaReleased,
    QuotaReserved,
    VariantCreated,
    VariantDeleted,
    WorkloadAdmitted,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadRequeued,
)
from tidegate.contracts.facts import (
    Event,
    WorkloadAdopted,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)

Phase = Literal["pending", "parent", "reserved", "admitted", "evicting", "inactive", "finished"]
"""``parent``: its variants are tried, never itself."""
AnyPhase = Phase | Literal["unknown", "removed"]
"""``unknown``: before its first event; ``removed``: after its last."""
HOLDING: tuple[Phase, ...] = ("reserved", "admitted", "evicting")
"""The phases in which a workload is charged."""
SLICE_REPLACED = "WorkloadSliceReplaced"
"""Reason of QuotaReleased for an elastic job's older slice, which a newer one replaces."""


_AFTER: dict[type[Event], AnyPhase] = {
    WorkloadSubmitted: "pending",
    VariantCreated: "pending",
    QuotaReserved: "reserved",
    WorkloadAdmitted: "admitted",
    WorkloadAdopted: "admitted",
    WorkloadRequeued: "pending",
    WorkloadDeactivated: "inactive",
    WorkloadFinished: "finished",
    WorkloadRemoved: "removed",
    VariantDeleted: "removed",
}


def phase_after(phase: AnyPhase, event: Event, workload: str, *, was_active: bool) -> AnyPhase:
    """Return the phase of a workload after an event about it or about a variant of it.

    ``was_active`` is ``spec.active`` as of the last event before: a workload that a decision
    deactivated is pending again only after a change from false to true.
    """
    match event:
        case VariantCreated() | VariantDeleted() if event.parent == workload:
            return _parent_phase(phase, event)
        case WorkloadEvicted() if phase in HOLDING:
            return "evicting"
        case QuotaReleased():
            return "finished" if event.reason == SLICE_REPLACED else "pending"
        case WorkloadChanged() if event.active and not was_active and phase == "inactive":
            return "parent" if event.has_variants else "pending"
        case _:
            return _AFTER.get(type(event), phase)


def _parent_phase(phase: AnyPhase, event: VariantCreated | VariantDeleted) -> AnyPhase:
    if isinstance(event, VariantCreated):
        return "parent" if phase == "pending" else phase
    return "pending" if event.last and phase == "parent" else phase
