"""The ledger: its events, its writer's term, its positions, its snapshots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
REBUILDS_REPORTS = False
READABLE_FROM = "0001"

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the four tables."""
    op.create_table(
        "ledger_event",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", _NUMBER, autoincrement=False, nullable=False),
        sa.Column("epoch", _NUMBER, nullable=False),
        sa.Column("turn", _NUMBER, nullable=False),
        sa.Column("at_us", _NUMBER, nullable=False),
        sa.Column("cluster", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("partition", "seq", name="pk_ledger_event"),
    )
    op.create_table(
        "ledger_writer",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", _NUMBER, nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("lease_until_us", _NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("partition", name="pk_ledger_writer"),
    )
    op.create_table(
        "ledger_position",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("incarnation", _NUMBER, nullable=False),
        sa.Column("seq", _NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("partition", "stream", name="pk_ledger_position"),
    )
    op.create_table(
        "ledger_snapshot",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", _NUMBER, autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("partition", "seq", name="pk_ledger_snapshot"),
    )


def downgrade() -> None:
    """Drop them, and the history with them."""
    for table in ("ledger_snapshot", "ledger_position", "ledger_writer", "ledger_event"):
        op.drop_table(table)
