"""Budgets as they were set, and what each period of them came to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
REBUILDS_REPORTS = True
READABLE_FROM = "0006"
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KEY = ("partition", "kind", "owner", "resource", "from_seq")


def upgrade() -> None:
    """Make the table; its rows are made of the events."""
    op.create_table(
        "report_budget",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("kind", "owner", "resource")),
        sa.Column("from_seq", _NUMBER, autoincrement=False, nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("hours", _NUMBER, nullable=False),
        sa.Column("hard", sa.Boolean(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        *(sa.Column(name, _NUMBER, nullable=False) for name in ("since_us", "until_us")),
        *(sa.Column(name, _NUMBER, nullable=True) for name in ("to_us", "to_seq", "spent")),
        sa.PrimaryKeyConstraint(*_KEY, name="pk_report_budget"),
    )
    lasts = sa.text("to_seq IS NULL")
    if op.get_bind().dialect.name == "sqlite":
        columns = ["to_seq", "partition", "owner"]
        op.create_index("report_budget_lasts", "report_budget", columns, sqlite_where=lasts)
    else:
        op.create_index("report_budget_named", "report_budget", ["owner"], postgresql_where=lasts)


def downgrade() -> None:
    """Drop it."""
    op.drop_table("report_budget")
