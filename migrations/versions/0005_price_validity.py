"""Prices hold from a day on: what was charged before a change stays what it was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
REBUILDS_REPORTS = False
READABLE_FROM = "0005"


def upgrade() -> None:
    """Add the days; the prices there are hold from the beginning on."""
    with op.batch_alter_table("price") as table:
        table.add_column(sa.Column("valid_from", sa.String(), nullable=False, server_default=""))
        table.add_column(sa.Column("valid_until", sa.String()))
        table.drop_constraint("pk_price", type_="primary")
        table.create_primary_key("pk_price", ["flavor", "resource", "valid_from"])
        table.create_check_constraint("price_day", "length(valid_from) IN (0, 10)")
        table.create_check_constraint("price_end", "length(valid_until) = 10")


def downgrade() -> None:
    """Keep of each flavor and resource the newest price, and drop the days."""
    price, newer = sa.table("price", *_columns()), sa.table("price", *_columns()).alias()
    same = (price.c.flavor == newer.c.flavor) & (price.c.resource == newer.c.resource)
    outdated = sa.exists().where(same & (newer.c.valid_from > price.c.valid_from))
    op.execute(sa.delete(price).where(outdated))
    with op.batch_alter_table("price") as table:
        table.drop_constraint("price_day", type_="check")
        table.drop_constraint("price_end", type_="check")
        table.drop_constraint("pk_price", type_="primary")
        table.create_primary_key("pk_price", ["flavor", "resource"])
        table.drop_column("valid_from")
        table.drop_column("valid_until")


def _columns() -> tuple[sa.ColumnClause[str], ...]:
    return sa.column("flavor"), sa.column("resource"), sa.column("valid_from")
