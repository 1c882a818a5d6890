"""Columns, tables and indexes as migrations write them, for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def make(table: str, key: Sequence[str], *columns: sa.Column[Any], **options: Any) -> None:  # noqa: ANN401 - SQLAlchemy's
    """Create a table whose first columns are its primary key."""
    primary = sa.PrimaryKeyConstraint(*key, name=f"pk_{table}")
    op.create_table(table, *map(_of_key, key), *columns, primary, **options)


def _of_key(name: str) -> sa.Column[Any]:
    """Return a column of a primary key; its name tells its type."""
    if name == "partition":
        return sa.Column(name, sa.Integer(), autoincrement=False, nullable=False)
    if name in ("seq", "priority") or name.endswith(("_seq", "_us")):
        return sa.Column(name, NUMBER, autoincrement=False, nullable=False)
    return sa.Column(name, sa.String(), nullable=False)


def texts(*names: str) -> Iterator[sa.Column[Any]]:
    """Yield columns of text that are never NULL."""
    return (sa.Column(name, sa.String(), nullable=False) for name in names)


def numbers(*names: str) -> Iterator[sa.Column[Any]]:
    """Yield columns of 64-bit integers that are never NULL."""
    return (sa.Column(name, NUMBER, nullable=False) for name in names)


def optional_numbers(*names: str) -> Iterator[sa.Column[Any]]:
    """Yield columns of 64-bit integers or NULL."""
    return (sa.Column(name, NUMBER, nullable=True) for name in names)


def flags(*names: str) -> Iterator[sa.Column[Any]]:
    """Yield columns of booleans that are never NULL."""
    return (sa.Column(name, sa.Boolean(), nullable=False) for name in names)


def doubles(*names: str) -> Iterator[sa.Column[Any]]:
    """Yield columns of floating-point numbers that are never NULL."""
    return (sa.Column(name, sa.Double(), nullable=False) for name in names)


def hashed() -> sa.Column[bytes]:
    """Return the column of a SHA-256."""
    return sa.Column("hash", sa.LargeBinary(length=32), nullable=False)


def index_lasting(table: str, by: str, ended: str) -> None:
    """Index the rows that last; in PostgreSQL by name alone, which it finds faster."""
    lasts = sa.text(f"{ended} IS NULL")
    if is_postgresql():
        op.create_index(f"{table}_named", table, [by], postgresql_where=lasts)
    else:
        op.create_index(f"{table}_lasts", table, [ended, "partition", by], sqlite_where=lasts)


def is_postgresql() -> bool:
    """Tell whether the migration runs on PostgreSQL."""
    return bool(op.get_bind().dialect.name == "postgresql")
