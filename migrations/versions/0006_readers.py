"""Readers of an earlier version: from which one on they find all that they ask for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
REBUILDS_REPORTS = False
READABLE_FROM = "0006"


def upgrade() -> None:
    """Make the table; store.schema.migrate fills its one row."""
    op.create_table(
        "ledger_schema",
        sa.Column("readable_from", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("readable_from", name="pk_ledger_schema"),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("ledger_schema")
