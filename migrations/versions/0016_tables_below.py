"""Tables for a partition of a ledger that begins after those of the first seqs have left."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from store.partitions.making import definition

revision = "0016"
down_revision = "0015"
REBUILDS_REPORTS = False
READABLE_FROM = "0011"


def upgrade() -> None:
    """Put today's function in the place of the one that made tables behind the last alone."""
    conn = op.get_bind()
    if conn.dialect.name == "postgresql":
        schema = conn.scalar(sa.text("SELECT quote_ident(current_schema())"))
        op.execute(definition(str(schema)))


def downgrade() -> None:
    """Leave the function: it does what the one before did, too."""
