"""Archives: which events left the database for a file, and what the rest goes on from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tidegate.errors import NotSupportedError

revision = "0003"
down_revision = "0002"
REBUILDS_REPORTS = False
READABLE_FROM = "0003"

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table of archives."""
    op.create_table(
        "ledger_archive",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", _NUMBER, autoincrement=False, nullable=False),
        sa.Column("first_seq", _NUMBER, nullable=False),
        sa.Column("epoch", _NUMBER, nullable=False),
        sa.Column("turn", _NUMBER, nullable=False),
        sa.Column("at_us", _NUMBER, nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("opened", sa.Text(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("partition", "seq", name="pk_ledger_archive"),
    )


def downgrade() -> None:
    """Drop it, unless events were archived: versions below would take the rest for everything.

    Raises:
        NotSupportedError: events are in files.
    """
    archived = op.get_bind().scalar(sa.text("SELECT max(seq) FROM ledger_archive"))
    if archived:
        raise NotSupportedError(
            f"The events up to seq {archived} are in archives, which versions below {revision} do "
            "not read. Write all to one file with `tidegate ledger export`, make a ledger of it "
            "with `tidegate ledger backup NEW --ledger FILE`, and downgrade that."
        )
    op.drop_table("ledger_archive")
