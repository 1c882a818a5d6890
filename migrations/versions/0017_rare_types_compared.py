"""Another condition of the index of rare types, which SQLite evaluates for each row it writes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
REBUILDS_REPORTS = False
READABLE_FROM = "0011"

_INDEX, _TABLE = "ledger_event_rare", "ledger_event"
_COLUMNS = ("partition", "type", "seq")
_FREQUENT = (
    *("JobStateReported", "WorkloadSubmitted", "QuotaReserved", "WorkloadAdmitted"),
    *("StartOrdered", "WorkloadFinished", "PodsReadyReported", "WorkloadPending"),
    *("QuotaReleased", "WorkloadRemoved", "ActuationFailed", "CheckDecided", "CheckReported"),
    *("LocalQueueUsageSampled", "NodeDefined", "NodePodsCleared", "NodePodsReported"),
    *("OrderReissued", "PodsReclaimed", "PreemptionIntended", "RemoteWorkloadReported"),
    *("ReservationRepeated", "StopOrdered", "TimePassed", "TopologyAssigned"),
    *("WorkloadChanged", "WorkloadEvicted", "WorkloadPreempted", "WorkloadRequeued"),
    "WorkloadStopped",
)
_COMPARED = " AND ".join(f"type <> {name!r}" for name in _FREQUENT)
_LISTED = f"type NOT IN ({', '.join(map(repr, sorted(_FREQUENT)))})"


def upgrade() -> None:
    """Compare with one name after the other: for a list SQLite makes a table for each row."""
    _make(_COMPARED)


def downgrade() -> None:
    """Take the list again."""
    _make(_LISTED)


def _make(where: str) -> None:
    """Make SQLite's index anew; PostgreSQL keeps its own, which costs it nothing."""
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index(_INDEX, _TABLE)
        op.create_index(_INDEX, _TABLE, _COLUMNS, sqlite_where=sa.text(where))
