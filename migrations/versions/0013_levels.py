"""Levels of quota, summed up while an hour lasts, so that its end has little left to do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
REBUILDS_REPORTS = True
READABLE_FROM = "0011"
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_USED = ("cluster_queue", "flavor", "resource")
_LEVELS = ("used", "nominal", "lends")
_TOTALS = ("nominal", "used", "borrowed", "idle", "lendable")


def upgrade() -> None:
    """Make the tables, whose rows are made of the events."""
    sums = (*_LEVELS, *(f"{name}_seconds" for name in _TOTALS))
    op.create_table(
        "report_quota_level",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in _USED),
        *(sa.Column(name, sa.Double(), nullable=False) for name in sums),
        sa.PrimaryKeyConstraint("partition", *_USED, name="pk_report_quota_level"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "report_quota_position",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, _NUMBER, nullable=False) for name in ("seq", "at_us")),
        sa.PrimaryKeyConstraint("partition", name="pk_report_quota_position"),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("report_quota_position")
    op.drop_table("report_quota_level")
