"""What the reports' rows begin with, and whether they are to be made again: ``report_state``."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
REBUILDS_REPORTS = False
READABLE_FROM = "0006"
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table; without a row the reports begin with the ledger, and are right."""
    op.create_table(
        "report_state",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kept_from_us", _NUMBER, nullable=False),
        sa.Column("stale", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("partition", name="pk_report_state"),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("report_state")
