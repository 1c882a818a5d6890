"""When each stream's position last moved: when a member cluster was last heard of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
REBUILDS_REPORTS = False
READABLE_FROM = "0011"
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column; what was read before has no time."""
    column = sa.Column("moved_us", _NUMBER, nullable=False, server_default="0")
    op.add_column("ledger_position", column)


def downgrade() -> None:
    """Drop it."""
    op.drop_column("ledger_position", "moved_us")
