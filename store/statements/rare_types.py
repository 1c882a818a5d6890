"""Event types that a ledger has few of, which ``ledger_event_rare`` indexes.

What comes with each workload, node or turn is left out: who appends it would pay for an index that
answers no more quickly than reading backwards does.
"""

from __future__ import annotations

from collections.abc import Collection

FREQUENT = (
    "ActuationFailed",
    "CheckDecided",
    "CheckReported",
    "JobStateReported",
    "LocalQueueUsageSampled",
    "NodeDefined",
    "NodePodsCleared",
    "NodePodsReported",
    "OrderReissued",
    "PodsReadyReported",
    "PodsReclaimed",
    "PreemptionIntended",
    "QuotaReleased",
    "QuotaReserved",
    "RemoteWorkloadReported",
    "ReservationRepeated",
    "StartOrdered",
    "StopOrdered",
    "TimePassed",
    "TopologyAssigned",
    "WorkloadAdmitted",
    "WorkloadChanged",
    "WorkloadEvicted",
    "WorkloadFinished",
    "WorkloadPending",
    "WorkloadPreempted",
    "WorkloadRemoved",
    "WorkloadRequeued",
    "WorkloadStopped",
    "WorkloadSubmitted",
)
IS_RARE = f"type NOT IN ({', '.join(repr(name) for name in FREQUENT)})"
"""The index's condition: SQLite takes the index for statements that repeat it to the letter."""


def are_rare(types: Collection[str]) -> bool:
    """Return whether the index has every event of these types; of no types: it has not."""
    return bool(types) and not set(types).intersection(FREQUENT)
