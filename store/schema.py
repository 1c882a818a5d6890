"""Which schema a database has, and whether this version may read it.

Revisions are numbered by their files in ``migrations/versions``. Alembic is not asked, since to
import it takes longer than most readings.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

import migrations
from store.access.engine import shown
from store.failures import reading
from store.tables import ledger_view
from store.views import catalog
from tidegate.errors import LedgerUnreachableError

VERSION_TABLE = "alembic_version"


def check(engine: Engine) -> None:
    """Make sure that a ledger may be read by this version; changes nothing.

    Raises:
        LedgerUnreachableError: the database does not answer, holds no ledger, or its schema is
            another version's: the message says what to do.
    """
    with reading(engine) as conn:
        if is_current(conn):
            return
        found = revision(conn)
    if found is None:
        raise LedgerUnreachableError(
            f"There is no ledger in {shown(engine)}: a scheduler, or `tidegate ledger migrate`,"
            " makes one."
        )
    refuse_newer(engine, found)
    raise LedgerUnreachableError(
        f"The schema of {shown(engine)} is another version's: run `tidegate ledger migrate`,"
        " or start a scheduler of this version."
    )


def is_current(conn: Connection) -> bool:
    """Tell whether the database has exactly this version's tables and views."""
    return revision(conn) == revisions()[-1] and catalog.current(conn)


def refuse_newer(engine: Engine, found: str | None) -> None:
    """Make sure that a revision is one of ours, or none.

    Raises:
        LedgerUnreachableError: a newer Tidegate wrote it.
    """
    if found is not None and found not in revisions():
        raise LedgerUnreachableError(
            f"A newer Tidegate wrote {shown(engine)}: its schema is revision {found}, and this "
            f"version knows up to {revisions()[-1]}. Use the newer version, or a copy from before."
        )


def revision(conn: Connection) -> str | None:
    """Return the revision that the database is at; None if no migration ever ran."""
    if not inspect(conn).has_table(VERSION_TABLE):
        return None
    found = conn.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608 - ours
    return None if found is None else str(found)


def has_views(conn: Connection) -> bool:
    """Tell whether the database keeps the list of views."""
    return inspect(conn).has_table(ledger_view.name)


def revisions() -> list[str]:
    """Return the revisions that this version knows, in order."""
    return sorted(path.name.partition("_")[0] for path in folder().glob("versions/[0-9]*.py"))


def folder() -> Path:
    """Return where the migrations are."""
    assert migrations.__file__ is not None
    return Path(migrations.__file__).parent
