"""Events by range of seq: in PostgreSQL ``ledger_event`` is partitioned; SQLite stays as it is.

The table there is becomes the first partition as it stands. Most of the work, to make sure that all
of its rows belong there, is done before (``prepare``), while the writer goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from store.partitions.making import (
    EVENTS_DEFAULT,
    FUNCTION,
    RESERVE_EVENTS,
    SIGNATURE,
    definition,
)
from tidegate.errors import NotSupportedError

revision = "0007"
down_revision = "0006"
REBUILDS_REPORTS = False
READABLE_FROM = "0006"

_FIRST = "ledger_event_0"
_CHECK = "ledger_event_first"
_BOUND = (
    "SELECT substring(pg_get_constraintdef(oid) from '(\\d{4,})')::bigint, convalidated"
    " FROM pg_constraint WHERE conname = :name AND conrelid = to_regclass('ledger_event')"
)
_RIGHTS = (
    "SELECT quote_ident(pg_get_userbyid(a.grantee)), a.privilege_type, ''"
    " FROM pg_class c, aclexplode(c.relacl) a"
    " WHERE c.oid = :table ::regclass AND a.grantee NOT IN (0, c.relowner)"
    " UNION ALL SELECT quote_ident(pg_get_userbyid(a.grantee)), a.privilege_type,"
    " quote_ident(t.attname) FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid,"
    " aclexplode(t.attacl) a WHERE c.oid = :table ::regclass AND a.grantee NOT IN (0, c.relowner)"
)


def prepare(engine: sa.Engine) -> None:
    """Have the database know that all rows belong to the first partition, while it is written to.

    Takes ACCESS EXCLUSIVE for a moment, then SHARE UPDATE EXCLUSIVE for one reading of the table.
    May be broken off and run again.
    """
    if engine.dialect.name != "postgresql":
        return
    with engine.begin() as conn:
        if conn.scalar(sa.text("SELECT to_regclass('ledger_event')")) is None:
            return
        newest = conn.scalar(sa.text("SELECT max(seq) FROM ledger_event"))
        if newest is None:
            return
        if conn.execute(sa.text(_BOUND), {"name": _CHECK}).first() is None:
            bound = ((newest + RESERVE_EVENTS) // EVENTS_DEFAULT + 1) * EVENTS_DEFAULT
            conn.execute(sa.text("SET LOCAL lock_timeout = '5s'"))
            added = f"ADD CONSTRAINT {_CHECK} CHECK (seq < {bound}) NOT VALID"
            conn.execute(sa.text(f"ALTER TABLE ledger_event {added}"))
    with engine.begin() as conn:
        conn.execute(sa.text(f"ALTER TABLE ledger_event VALIDATE CONSTRAINT {_CHECK}"))


def upgrade() -> None:
    """Put a partitioned table in the place of the plain one, which is attached to it."""
    if op.get_bind().dialect.name != "postgresql":
        return
    conn = op.get_bind()
    schema = conn.scalar(sa.text("SELECT quote_ident(current_schema())"))
    row = conn.execute(sa.text(_BOUND), {"name": _CHECK}).first()
    op.rename_table("ledger_event", _FIRST)
    op.execute(f"ALTER TABLE {_FIRST} RENAME CONSTRAINT pk_ledger_event TO {_FIRST}_pkey")
    op.execute(
        f"CREATE TABLE ledger_event (LIKE {_FIRST} INCLUDING DEFAULTS INCLUDING STORAGE,"
        " CONSTRAINT pk_ledger_event PRIMARY KEY (partition, seq)) PARTITION BY RANGE (seq)"
    )
    op.execute(definition(str(schema)))
    op.execute(f"REVOKE ALL ON FUNCTION {SIGNATURE} FROM PUBLIC")
    _move_rights(conn, _FIRST, "ledger_event")
    if row is None:  # an empty ledger: its writer makes the first partition
        op.drop_table(_FIRST)
        return
    op.execute(
        f"ALTER TABLE ledger_event ATTACH PARTITION {_FIRST}"
        f" FOR VALUES FROM (MINVALUE) TO ({row[0]})"
    )
    op.execute(f"ALTER TABLE {_FIRST} DROP CONSTRAINT {_CHECK}")


def downgrade() -> None:
    """Make one plain table again: of one partition at once, of several by copying their rows.

    Raises:
        NotSupportedError: events are in Parquet files, which versions below do not read.
    """
    conn = op.get_bind()
    parquet = conn.scalar(
        sa.text("SELECT max(seq) FROM ledger_archive WHERE file LIKE '%.parquet'")
    )
    if parquet:
        raise NotSupportedError(
            f"The events up to seq {parquet} are in Parquet files, which versions below {revision} "
            "do not read. Write all to one file with `tidegate ledger export`, make a ledger of it "
            "with `tidegate ledger backup NEW --ledger FILE`, and downgrade that."
        )
    if conn.dialect.name != "postgresql":
        return
    op.execute(f"DROP FUNCTION {FUNCTION}(bigint, bigint)")
    op.rename_table("ledger_event", "ledger_event_parted")
    op.execute("ALTER TABLE ledger_event_parted RENAME CONSTRAINT pk_ledger_event TO pk_parted")
    partitions = list(_holding_rows(conn))
    if len(partitions) == 1:
        op.execute(f"ALTER TABLE ledger_event_parted DETACH PARTITION {partitions[0]}")
        op.rename_table(partitions[0], "ledger_event")
        key = conn.scalar(
            sa.text(
                "SELECT quote_ident(conname) FROM pg_constraint"
                " WHERE conrelid = 'ledger_event'::regclass AND contype = 'p'"
            )
        )
        op.execute(f"ALTER TABLE ledger_event RENAME CONSTRAINT {key} TO pk_ledger_event")
    else:
        op.execute(
            "CREATE TABLE ledger_event (LIKE ledger_event_parted INCLUDING DEFAULTS INCLUDING"
            " STORAGE, CONSTRAINT pk_ledger_event PRIMARY KEY (partition, seq))"
        )
        op.execute("INSERT INTO ledger_event SELECT * FROM ledger_event_parted")
    _move_rights(conn, "ledger_event_parted", "ledger_event")
    op.drop_table("ledger_event_parted")


def _holding_rows(conn: sa.Connection) -> Iterator[str]:
    names = conn.scalars(
        sa.text(
            "SELECT quote_ident(c.relname) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " WHERE i.inhparent = 'ledger_event_parted'::regclass"
        )
    ).all()
    for name in names:
        if conn.scalar(sa.text(f"SELECT true FROM {name} LIMIT 1")):  # noqa: S608 - quoted
            yield name


def _move_rights(conn: sa.Connection, old: str, new: str) -> None:
    """Move each role's rights from one table to another.

    A role that may INSERT may also create partitions.
    """
    for role, right, column in conn.execute(sa.text(_RIGHTS), {"table": old}).all():
        privilege = f"{right} ({column})" if column else right
        op.execute(f"GRANT {privilege} ON {new} TO {role}")
        op.execute(f"REVOKE {privilege} ON {old} FROM {role}")
        if right == "INSERT" and new == "ledger_event" and old == _FIRST:
            op.execute(f"GRANT EXECUTE ON FUNCTION {SIGNATURE} TO {role}")
