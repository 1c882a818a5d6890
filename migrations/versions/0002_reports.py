"""The reports: what the events say in rows, the list of views over them, and the price table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
REBUILDS_REPORTS = True
READABLE_FROM = "0002"

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TABLES = (
    "report_workload",
    "report_wait",
    "report_holding",
    "report_usage",
    "report_quota",
    "report_queue",
    "report_preemption",
    "report_priority_class",
)


def upgrade() -> None:
    """Make the tables; store.schema.migrate fills them from the events."""
    _make_workload()
    _make_wait()
    _make_holding()
    _make_quota()
    _make_queue()
    _make_preemption()
    _make_priority_class()
    _make_usage()
    op.create_table(
        "price",
        *_texts("flavor", "resource"),
        sa.Column("per_unit_hour", sa.Double(), nullable=False),
        *_texts("currency"),
        sa.PrimaryKeyConstraint("flavor", "resource", name="pk_price"),
    )
    op.create_table(
        "ledger_view",
        *_texts("name"),
        *_integers("place"),
        *_texts("digest"),
        sa.PrimaryKeyConstraint("name", name="pk_ledger_view"),
    )


def downgrade() -> None:
    """Drop them; the events stay, so they can be made again. Prices are lost."""
    for table in ("ledger_view", "price", *reversed(_TABLES)):
        op.drop_table(table)


def _make_workload() -> None:
    op.create_table(
        "report_workload",
        *_integers("partition"),
        *_numbers("submitted_seq"),
        *_texts(
            "cluster",
            "workload",
            "namespace",
            "name",
            "uid",
            "job_kind",
            "job_name",
            "local_queue",
            "cluster_queue",
            "priority_class",
            "pod_priority_class",
        ),
        *_numbers("priority"),
        *_perhaps("own_priority"),
        *_numbers("priority_boost"),
        *_texts("author", "pods", "reclaimed"),
        *_numbers("created_us", "submitted_us"),
        *_texts("phase", "reason", "message"),
        *_numbers("phase_us"),
        *_perhaps("not_before_us", "reservation_seq", "reserved_us", "admitted_us", "intent_seq"),
        *_numbers("evictions", "preemptions"),
        *_perhaps("finished_us"),
        *_texts("outcome"),
        *_perhaps("removed_us", "removed_seq"),
        sa.PrimaryKeyConstraint("partition", "submitted_seq", name="pk_report_workload"),
    )
    _index_what_lasts("report_workload", "workload", "removed_seq")


def _make_wait() -> None:
    op.create_table(
        "report_wait",
        *_integers("partition"),
        *_numbers("from_seq", "submitted_seq"),
        *_texts(
            "cluster",
            "workload",
            "namespace",
            "uid",
            "local_queue",
            "cluster_queue",
            "priority_class",
        ),
        *_numbers("priority"),
        *_texts("author"),
        *_numbers("from_us"),
        *_perhaps("not_before_us", "reserved_us", "to_us", "to_seq"),
        *_texts("outcome", "reason"),
        *_numbers("times_pending"),
        sa.PrimaryKeyConstraint("partition", "from_seq", name="pk_report_wait"),
    )
    _index_what_lasts("report_wait", "workload", "to_seq")


def _make_holding() -> None:
    op.create_table(
        "report_holding",
        *_integers("partition"),
        *_numbers("from_seq"),
        *_texts("podset", "flavor", "resource"),
        *_numbers("reservation_seq", "submitted_seq"),
        *_texts(
            "cluster",
            "cluster_queue",
            "local_queue",
            "namespace",
            "workload",
            "uid",
            "author",
            "priority_class",
        ),
        *_numbers("priority", "pods_assigned", "amount_assigned", "pods", "amount", "from_us"),
        *_perhaps("to_us", "to_seq"),
        sa.PrimaryKeyConstraint(
            "partition", "from_seq", "podset", "flavor", "resource", name="pk_report_holding"
        ),
    )
    _index_what_lasts("report_holding", "workload", "to_seq")
    op.create_index("report_holding_reservation", "report_holding", ["reservation_seq"])


def _make_quota() -> None:
    op.create_table(
        "report_quota",
        *_integers("partition"),
        *_texts("kind", "owner", "flavor", "resource"),
        *_numbers("from_seq", "nominal"),
        *_perhaps("borrowing_limit", "lending_limit"),
        *_texts("author"),
        *_numbers("from_us"),
        *_perhaps("to_us", "to_seq"),
        *_texts("ended_by"),
        sa.PrimaryKeyConstraint(
            "partition", "kind", "owner", "flavor", "resource", "from_seq", name="pk_report_quota"
        ),
    )
    _index_what_lasts("report_quota", "owner", "to_seq")


def _make_queue() -> None:
    op.create_table(
        "report_queue",
        *_integers("partition"),
        *_texts("kind", "owner"),
        *_numbers("from_seq"),
        *_texts("parent"),
        *_numbers("weight"),
        *_texts("strategy", "stop_policy", "author"),
        *_numbers("from_us"),
        *_perhaps("to_us", "to_seq"),
        sa.PrimaryKeyConstraint("partition", "kind", "owner", "from_seq", name="pk_report_queue"),
    )
    _index_what_lasts("report_queue", "owner", "to_seq")


def _make_preemption() -> None:
    op.create_table(
        "report_preemption",
        *_integers("partition"),
        *_numbers("seq", "at_us"),
        *_texts(
            "cluster", "workload", "uid", "namespace", "local_queue", "cluster_queue", "author"
        ),
        *_numbers("priority"),
        *_texts("by", "by_uid", "by_cluster_queue", "reason", "message"),
        *_perhaps("intent_seq", "reservation_seq", "admitted_us", "released_us", "released_seq"),
        sa.PrimaryKeyConstraint("partition", "seq", name="pk_report_preemption"),
    )
    _index_what_lasts("report_preemption", "workload", "released_seq")


def _make_priority_class() -> None:
    op.create_table(
        "report_priority_class",
        *_integers("partition"),
        *_texts("kind", "name"),
        *_numbers("value"),
        *_flags("is_default", "defined"),
        sa.PrimaryKeyConstraint("partition", "kind", "name", name="pk_report_priority_class"),
    )


def _make_usage() -> None:
    op.create_table(
        "report_usage",
        *_integers("partition"),
        *_numbers("hour_us"),
        *_texts("cluster_queue", "flavor", "resource", "namespace", "local_queue", "author"),
        *_texts("priority_class"),
        *_numbers("priority"),
        *_texts("cluster"),
        sa.Column("unit_seconds", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(
            "partition",
            "hour_us",
            "cluster_queue",
            "flavor",
            "resource",
            "namespace",
            "local_queue",
            "author",
            "priority_class",
            "priority",
            "cluster",
            name="pk_report_usage",
        ),
        sqlite_with_rowid=False,
    )


def _texts(*names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.String(), nullable=False) for name in names)


def _integers(*names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.Integer(), nullable=False) for name in names)


def _numbers(*names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, _NUMBER, nullable=False) for name in names)


def _perhaps(*names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, _NUMBER, nullable=True) for name in names)


def _flags(*names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.Boolean(), nullable=False) for name in names)


def _index_what_lasts(table: str, by: str, ended: str) -> None:
    lasts = sa.text(f"{ended} IS NULL")
    op.create_index(
        f"{table}_lasts",
        table,
        [ended, "partition", by],
        sqlite_where=lasts,
        postgresql_where=lasts,
    )
