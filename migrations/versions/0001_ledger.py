"""The ledger: its events, its writer's term, positions, snapshots and archives, and the reports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import (
    NUMBER,
    doubles,
    flags,
    hashed,
    index_lasting,
    is_postgresql,
    make,
    numbers,
    optional_numbers,
    texts,
)
from store.partitions.making import FUNCTION, SIGNATURE, function_definition

revision = "0001"
down_revision = None
REBUILDS_REPORTS = False  # True: the reporting tables are made again from the events
READABLE_FROM = "0001"  # the oldest whose readers find all that they ask for

_TABLES = (
    *("ledger_event", "ledger_writer", "ledger_position", "ledger_snapshot", "ledger_archive"),
    *("ledger_view", "ledger_schema", "report_state", "report_workload", "report_wait"),
    *("report_holding", "report_quota", "report_queue", "report_preemption"),
    *("report_priority_class", "report_budget", "report_price", "report_usage"),
    *("report_usage_day", "report_quota_hour", "report_quota_level", "report_quota_position"),
)
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
"""SQLite evaluates it for each row it writes: for a list it would make a table each time."""
_LISTED = f"type NOT IN ({', '.join(map(repr, sorted(_FREQUENT)))})"
_SETTINGS = {
    "fillfactor": "60",
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_analyze_scale_factor": "0.02",
}
"""PostgreSQL's, of tables whose rows change often: space beside them, and early vacuums."""
_USED = ("cluster_queue", "flavor", "resource")
_USER = (*_USED, "namespace", "local_queue", "author", "priority_class")


def upgrade() -> None:
    """Make the tables; ``store.schema.migrate`` makes the views over them."""
    _make_events()
    _make_writer()
    _make_notes()
    _make_workload()
    _make_wait()
    _make_holding()
    _make_queues()
    _make_preemption()
    _make_budget()
    _make_price()
    _make_usage()
    _make_quota_sums()
    if is_postgresql():
        settings = ", ".join(f"{name} = {value}" for name, value in _SETTINGS.items())
        for table in ("report_workload", "report_wait", "report_holding", "report_usage"):
            op.execute(f"ALTER TABLE {table} SET ({settings})")


def downgrade() -> None:
    """Drop them, and the history with them."""
    if is_postgresql():
        op.execute(f"DROP FUNCTION {FUNCTION}(bigint, bigint)")
    for table in reversed(_TABLES):
        op.drop_table(table)


def _make_events() -> None:
    """Make the events; PostgreSQL has them by range of seq, and a function that makes the next."""
    make(
        "ledger_event",
        ("partition", "seq"),
        *numbers("epoch", "turn", "at_us"),
        *texts("cluster", "type", "subject"),
        sa.Column("payload", sa.Text(), nullable=False),
        hashed(),
        postgresql_partition_by="RANGE (seq)",
    )
    op.create_index(
        "ledger_event_rare",
        "ledger_event",
        ["partition", "type", "seq"],
        sqlite_where=sa.text(_COMPARED),
        postgresql_where=sa.text(_LISTED),
    )
    if is_postgresql():
        schema = op.get_bind().scalar(sa.text("SELECT quote_ident(current_schema())"))
        op.execute(function_definition(str(schema)))
        op.execute(f"REVOKE ALL ON FUNCTION {SIGNATURE} FROM PUBLIC")


def _make_writer() -> None:
    lease = (*numbers("epoch"), *texts("holder"), *numbers("lease_until_us"))
    make("ledger_writer", ("partition",), *lease)
    moved = sa.Column("moved_us", NUMBER, nullable=False, server_default="0")
    make("ledger_position", ("partition", "stream"), *numbers("incarnation", "seq"), moved)
    make(
        "ledger_snapshot",
        ("partition", "seq"),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        hashed(),
    )
    make(
        "ledger_archive",
        ("partition", "seq"),
        *numbers("first_seq", "epoch", "turn", "at_us"),
        hashed(),
        sa.Column("opened", sa.Text(), nullable=False),
        *texts("file", "digest"),
    )


def _make_notes() -> None:
    """Make the list of views, the versions that may read, and the state of the reports."""
    place = sa.Column("place", sa.Integer(), nullable=False)
    make("ledger_view", ("name",), place, *texts("digest"))
    make("ledger_schema", ("readable_from",))
    make("report_state", ("partition",), *numbers("kept_from_us"), *texts("stale"))


def _make_workload() -> None:
    make(
        "report_workload",
        ("partition", "submitted_seq"),
        *texts("cluster", "workload", "namespace", "name", "uid", "job_kind", "job_name"),
        *texts("local_queue", "cluster_queue", "priority_class", "pod_priority_class"),
        *numbers("priority"),
        *optional_numbers("own_priority"),
        *numbers("priority_boost"),
        *texts("author", "pods", "reclaimed"),
        *numbers("created_us", "submitted_us"),
        *texts("phase", "reason", "message"),
        *numbers("phase_us"),
        *optional_numbers(
            "not_before_us", "reservation_seq", "reserved_us", "admitted_us", "intent_seq"
        ),
        *numbers("evictions", "preemptions"),
        *optional_numbers("finished_us"),
        *texts("outcome"),
        *optional_numbers("removed_us", "removed_seq", "inactive_us"),
        *texts("evicted_reason"),
        *numbers("evicted_us"),
        *texts("preempted_reason"),
        *numbers("preempted_us", "queue_order_us"),
    )
    index_lasting("report_workload", "workload", "removed_seq")


def _make_wait() -> None:
    make(
        "report_wait",
        ("partition", "from_seq"),
        *numbers("submitted_seq"),
        *texts("cluster", "workload", "namespace", "uid"),
        *texts("local_queue", "cluster_queue", "priority_class"),
        *numbers("priority"),
        *texts("author"),
        *numbers("from_us"),
        *optional_numbers("not_before_us", "reserved_us", "to_us", "to_seq"),
        *texts("outcome", "reason"),
        *numbers("times_pending"),
    )
    index_lasting("report_wait", "workload", "to_seq")
    if not is_postgresql():
        group = ("cluster", "cluster_queue", "local_queue", "namespace", "priority_class")
        columns: list[str | sa.TextClause] = [*group, sa.text("to_us - from_us")]
        admitted = sa.text("outcome = 'admitted'")
        op.create_index("report_wait_admitted", "report_wait", columns, sqlite_where=admitted)


def _make_holding() -> None:
    make(
        "report_holding",
        ("partition", "from_seq", "podset", "flavor", "resource"),
        *numbers("reservation_seq", "submitted_seq"),
        *texts("cluster", "cluster_queue", "local_queue", "namespace", "workload", "uid"),
        *texts("author", "priority_class"),
        *numbers("priority", "pods_assigned", "amount_assigned", "pods", "amount", "from_us"),
        *optional_numbers("to_us", "to_seq"),
    )
    index_lasting("report_holding", "workload", "to_seq")
    op.create_index("report_holding_reservation", "report_holding", ["reservation_seq"])
    ended = sa.text("to_us IS NOT NULL")
    op.create_index(
        "report_holding_ended",
        "report_holding",
        ["to_us"],
        sqlite_where=ended,
        postgresql_where=ended,
    )


def _make_queues() -> None:
    make(
        "report_quota",
        ("partition", "kind", "owner", "flavor", "resource", "from_seq"),
        *numbers("nominal"),
        *optional_numbers("borrowing_limit", "lending_limit"),
        *texts("author"),
        *numbers("from_us"),
        *optional_numbers("to_us", "to_seq"),
        *texts("ended_by"),
    )
    index_lasting("report_quota", "owner", "to_seq")
    make(
        "report_queue",
        ("partition", "kind", "owner", "from_seq"),
        *texts("parent"),
        *numbers("weight"),
        *texts("strategy", "stop_policy", "author"),
        *numbers("from_us"),
        *optional_numbers("to_us", "to_seq"),
    )
    index_lasting("report_queue", "owner", "to_seq")
    of_class = (*numbers("value"), *flags("is_default", "defined"))
    make("report_priority_class", ("partition", "kind", "name"), *of_class)


def _make_preemption() -> None:
    make(
        "report_preemption",
        ("partition", "seq"),
        *numbers("at_us"),
        *texts("cluster", "workload", "uid", "namespace", "local_queue", "cluster_queue"),
        *texts("author"),
        *numbers("priority"),
        *texts("by", "by_uid", "by_cluster_queue", "reason", "message"),
        *optional_numbers(
            "intent_seq", "reservation_seq", "admitted_us", "released_us", "released_seq"
        ),
    )
    index_lasting("report_preemption", "workload", "released_seq")


def _make_budget() -> None:
    make(
        "report_budget",
        ("partition", "kind", "owner", "resource", "from_seq"),
        *texts("period"),
        *numbers("hours"),
        *flags("hard"),
        *texts("author"),
        *numbers("since_us", "until_us"),
        *optional_numbers("to_us", "to_seq", "spent"),
    )
    index_lasting("report_budget", "owner", "to_seq")


def _make_price() -> None:
    words = ("flavor", "resource", "priority_class", "quota")
    make(
        "report_price",
        ("partition", *words, "from_seq", "written_from", "day_from"),
        *doubles("per_unit_hour"),
        *texts("currency", "written_until", "author"),
        *numbers("from_us"),
        sa.Column("day_until", sa.String(), nullable=True),
        *optional_numbers("to_us", "to_seq"),
        *texts("ended_by"),
    )


def _make_usage() -> None:
    borrowed = sa.Column[float]("borrowed_seconds", sa.Double(), nullable=False, server_default="0")
    of_hour = ("partition", "hour_us", *_USER, "priority", "cluster")
    make("report_usage", of_hour, *doubles("unit_seconds"), borrowed, sqlite_with_rowid=False)
    of_day = ("partition", "day_us", *_USER, "cluster")
    sums = doubles("unit_seconds", "borrowed_seconds")
    make("report_usage_day", of_day, *sums, sqlite_with_rowid=False)


def _make_quota_sums() -> None:
    make(
        "report_quota_hour",
        ("partition", "hour_us", *_USED),
        *texts("cohort"),
        *doubles("nominal", "used", "borrowed", "lent", "idle"),
        sqlite_with_rowid=False,
    )
    totals = ("nominal", "used", "borrowed", "idle", "lendable")
    make(
        "report_quota_level",
        ("partition", *_USED),
        *doubles("used", "nominal", "lends", *(f"{name}_seconds" for name in totals)),
        sqlite_with_rowid=False,
    )
    make("report_quota_position", ("partition",), *numbers("seq", "at_us"))
