"""Event types that a ledger has few of, which ``ledger_event_rare`` indexes.

Types that come with each workload, node or turn are left out: each append would pay for an index
that answers no more quickly than reading backwards does.
"""

from __future__ import annotations

from collections.abc import Collection

FREQUENT = (
    "JobStateReported",
    "WorkloadSubmitted",
    "QuotaReserved",
    "WorkloadAdmitted",
    "StartOrdered",
    "WorkloadFinished",
    "PodsReadyReported",
    "WorkloadPending",
    "QuotaReleased",
    "WorkloadRemoved",
    "ActuationFailed",
    "CheckDecided",
    "CheckReported",
    "LocalQueueUsageSampled",
    "NodeDefined",
    "NodePodsCleared",
    "NodePodsReported",
    "OrderReissued",
    "PodsReclaimed",
    "PreemptionIntended",
    "RemoteWorkloadReported",
    "ReservationRepeated",
    "StopOrdered",
    "TimePassed",
    "TopologyAssigned",
    "WorkloadChanged",
    "WorkloadEvicted",
    "WorkloadPreempted",
    "WorkloadRequeued",
    "WorkloadStopped",
)
"""What comes most often stands first: SQLite compares in this order."""
IS_RARE = " AND ".join(f"type <> {name!r}" for name in FREQUENT)
"""The index's condition: SQLite takes the index for statements that repeat it to the letter.

NOT IN would read better: but then SQLite makes a table of these names anew for each row that it
writes, which takes two thirds of the time of writing an event.
"""


def are_rare(types: Collection[str]) -> bool:
    """Return whether the index has every event of these types; of no types: it has not."""
    return bool(types) and not set(types).intersection(FREQUENT)
