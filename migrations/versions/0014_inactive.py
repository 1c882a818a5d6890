"""Since when a workload is inactive by its owner, which decides who may activate it again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
REBUILDS_REPORTS = True
READABLE_FROM = "0011"
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column, whose values are made of the events."""
    op.add_column("report_workload", sa.Column("inactive_us", _NUMBER, nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("report_workload", "inactive_us")
