"""Which schema a database has, and whether this version may read it.

Revisions are numbered by their files in ``migrations/versions``. Alembic is not asked, since to
import it takes longer than most readings.
"""

from __future__ import annotations

from pathlib import Path

import migrations
from store.statements.selecting import Select
from store.views import texts
from tidegate.errors import LedgerUnreachableError

VERSION_TABLE, VIEW_TABLE, SCHEMA_TABLE = "alembic_version", "ledger_view", "ledger_schema"
_HAS_TABLE = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name",
    "postgresql": "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass(:name)",
}


def check_schema(select: Select, dialect: str, label: str, *, writes: bool = False) -> None:
    """Make sure that this version may read a ledger, or write to it; changes nothing.

    A newer version says from which revision on readers find all that they ask for, so they go on
    while services are updated, or rolled back, one after the other. ``label`` is the ledger's URL
    for people.

    Raises:
        LedgerUnreachableError: the database does not answer, holds no ledger, or its schema is
            another version's: the message says what to do.
    """
    if is_current(select, dialect):
        return
    current = revision(select, dialect)
    if not writes and _reads_newer(select, dialect, current):
        return
    if current is None:
        raise LedgerUnreachableError(
            f"There is no ledger in {label}: a scheduler, or `tidegate ledger migrate`, makes one."
        )
    refuse_newer(label, current)
    raise LedgerUnreachableError(
        f"The schema of {label} is another version's: run `tidegate ledger migrate`,"
        " or start a scheduler of this version."
    )


def is_current(select: Select, dialect: str) -> bool:
    """Return whether the database has exactly this version's tables and views."""
    return revision(select, dialect) == revisions()[-1] and texts.current(select, dialect)


def refuse_newer(label: str, current: str | None) -> None:
    """Refuse a revision that this version does not know.

    Raises:
        LedgerUnreachableError: a newer Tidegate wrote it.
    """
    if _is_newer(current):
        newest = revisions()[-1]
        raise LedgerUnreachableError(
            f"A newer Tidegate wrote {label}: its schema is revision {current}, and this version "
            f"knows up to {newest}. Use the newer version, or let it run `tidegate ledger "
            f"downgrade --to {newest}`."
        )


def _is_newer(current: str | None) -> bool:
    return current is not None and current not in revisions()


def _reads_newer(select: Select, dialect: str, current: str | None) -> bool:
    if not _is_newer(current) or not has_table(select, dialect, SCHEMA_TABLE):
        return False
    readable_from = select(f"SELECT readable_from FROM {SCHEMA_TABLE}")  # noqa: S608 - ours
    return bool(readable_from) and str(readable_from[0][0]) in revisions()


def revision(select: Select, dialect: str) -> str | None:
    """Return the revision that the database is at; None if no migration ever ran."""
    if not has_table(select, dialect, VERSION_TABLE):
        return None
    rows = select(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608 - ours
    return str(rows[0][0]) if rows else None


def has_table(select: Select, dialect: str, name: str) -> bool:
    """Return whether the database has a table."""
    return bool(select(_HAS_TABLE[dialect], name=name))


def revisions() -> list[str]:
    """Return the revisions that this version knows, in order."""
    return sorted(
        path.name.partition("_")[0] for path in migrations_folder().glob("versions/[0-9]*.py")
    )


def migrations_folder() -> Path:
    """Return where the migrations are."""
    assert migrations.__file__ is not None
    return Path(migrations.__file__).parent
