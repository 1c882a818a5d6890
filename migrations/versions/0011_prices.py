"""Prices of ResourceFlavors over time, with the user who set each: made from the events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
REBUILDS_REPORTS = False  # no event before tells a price
READABLE_FROM = "0011"
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_WORDS = ("flavor", "resource", "priority_class", "quota")
_KEY = ("partition", *_WORDS, "from_seq", "written_from", "day_from")


def upgrade() -> None:
    """Make the table; prices that were written by hand go: annotate the ResourceFlavors."""
    op.create_table(
        "report_price",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in _WORDS),
        sa.Column("from_seq", _NUMBER, autoincrement=False, nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("written_from", "day_from")),
        sa.Column("per_unit_hour", sa.Double(), nullable=False),
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in ("currency", "written_until", "author")
        ),
        sa.Column("from_us", _NUMBER, nullable=False),
        sa.Column("day_until", sa.String(), nullable=True),
        *(sa.Column(name, _NUMBER, nullable=True) for name in ("to_us", "to_seq")),
        sa.Column("ended_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint(*_KEY, name="pk_report_price"),
    )
    op.drop_table("price")


def downgrade() -> None:
    """Write down again what the table before could say: prices of all classes and quotas."""
    before = op.create_table(
        "price",
        sa.Column("flavor", sa.String(), nullable=False),
        sa.Column("resource", sa.String(), nullable=False),
        sa.Column("per_unit_hour", sa.Double(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("valid_from", sa.String(), nullable=False, server_default=""),
        sa.Column("valid_until", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("flavor", "resource", "valid_from", name="pk_price"),
        sa.CheckConstraint("length(valid_from) IN (0, 10)", name="price_day"),
        sa.CheckConstraint("length(valid_until) = 10", name="price_end"),
    )
    names = (*_WORDS, "per_unit_hour", "currency", "day_from", "day_until")
    rows = sa.table("report_price", *map(sa.column, ("partition", *names)))
    of_all = (rows.c.partition == 0, rows.c.priority_class == "", rows.c.quota == "")
    counts = sa.or_(rows.c.day_until.is_(None), rows.c.day_until > rows.c.day_from)
    columns_of = [rows.c[name] for name in ("flavor", "resource", *names[4:])]
    columns = ["flavor", "resource", "per_unit_hour", "currency", "valid_from", "valid_until"]
    op.execute(
        sa.insert(before).from_select(columns, sa.select(*columns_of).where(*of_all, counts))
    )
    op.drop_table("report_price")
