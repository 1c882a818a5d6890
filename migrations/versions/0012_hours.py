"""Quota by hour and usage by day, kept once they are over; waits in the order of their length."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
REBUILDS_REPORTS = True
READABLE_FROM = "0011"
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_USED = ("cluster_queue", "flavor", "resource")
_USER = (*_USED, "namespace", "local_queue", "author", "priority_class", "cluster")
_GROUP = ("cluster", "cluster_queue", "local_queue", "namespace", "priority_class")


def upgrade() -> None:
    """Make the tables, whose rows are made of the events, and what makes them cheap."""
    added: sa.Column[float] = sa.Column(
        "borrowed_seconds", sa.Double(), nullable=False, server_default="0"
    )
    op.add_column("report_usage", added)
    op.create_table(
        "report_usage_day",
        *_key("day_us", _USER),
        *(_sum(name) for name in ("unit_seconds", "borrowed_seconds")),
        sa.PrimaryKeyConstraint("partition", "day_us", *_USER, name="pk_report_usage_day"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "report_quota_hour",
        *_key("hour_us", _USED),
        sa.Column("cohort", sa.String(), nullable=False),
        *(_sum(name) for name in ("nominal", "used", "borrowed", "lent", "idle")),
        sa.PrimaryKeyConstraint("partition", "hour_us", *_USED, name="pk_report_quota_hour"),
        sqlite_with_rowid=False,
    )
    ended = sa.text("to_us IS NOT NULL")
    op.create_index(
        "report_holding_ended",
        "report_holding",
        ["to_us"],
        sqlite_where=ended,
        postgresql_where=ended,
    )
    if op.get_bind().dialect.name == "sqlite":
        columns: list[str | sa.TextClause] = [*_GROUP, sa.text("to_us - from_us")]
        admitted = sa.text("outcome = 'admitted'")
        op.create_index("report_wait_admitted", "report_wait", columns, sqlite_where=admitted)


def downgrade() -> None:
    """Drop them."""
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index("report_wait_admitted", "report_wait")
    op.drop_index("report_holding_ended", "report_holding")
    op.drop_table("report_quota_hour")
    op.drop_table("report_usage_day")
    op.drop_column("report_usage", "borrowed_seconds")


def _key(begins: str, names: tuple[str, ...]) -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(begins, _NUMBER, autoincrement=False, nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in names),
    )


def _sum(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=False)
