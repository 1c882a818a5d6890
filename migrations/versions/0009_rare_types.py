"""Events by type, of the types that a ledger has few of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
REBUILDS_REPORTS = False
READABLE_FROM = "0006"

_INDEX, _TABLE = "ledger_event_rare", "ledger_event"
_COLUMNS = ("partition", "type", "seq")
_FREQUENT = (
    *("ActuationFailed", "CheckDecided", "CheckReported", "JobStateReported"),
    *("LocalQueueUsageSampled", "NodeDefined", "NodePodsCleared", "NodePodsReported"),
    *("OrderReissued", "PodsReadyReported", "PodsReclaimed", "PreemptionIntended"),
    *("QuotaReleased", "QuotaReserved", "RemoteWorkloadReported", "ReservationRepeated"),
    *("StartOrdered", "StopOrdered", "TimePassed", "TopologyAssigned", "WorkloadAdmitted"),
    *("WorkloadChanged", "WorkloadEvicted", "WorkloadFinished", "WorkloadPending"),
    *("WorkloadPreempted", "WorkloadRemoved", "WorkloadRequeued", "WorkloadStopped"),
    "WorkloadSubmitted",
)
_RARE = f"type NOT IN ({', '.join(repr(name) for name in _FREQUENT)})"


def upgrade() -> None:
    """Make the index: the writer waits for one reading of the table.

    Not CONCURRENTLY: that waits for every transaction, also for those that wait to migrate.
    """
    where = sa.text(_RARE)
    op.create_index(_INDEX, _TABLE, _COLUMNS, sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    """Drop it."""
    op.drop_index(_INDEX, _TABLE)
