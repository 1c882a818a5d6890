"""The ledger's schema: brought up to date by whoever may write, checked by whoever reads.

Migrations change tables; views are code, so after any change all are made again. Where a migration
changes reporting tables, their rows are made again from the events.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, select, text

import migrations
from store.engine import open_engine, shown
from store.entries import pages
from store.failures import reading, transaction
from store.reporting.projection import rebuild
from store.tables import ledger_view, ledger_writer
from store.views import catalog
from tidegate.errors import LedgerUnreachableError

_LOCK = 7_116_100_103
"""PostgreSQL's advisory lock for migrations: any number that is only ours."""


def upgrade(ledger: str | Engine) -> None:
    """Bring a ledger's schema to this version's; does nothing if it is there already.

    Several services may call it at once: one migrates, the others wait.

    Raises:
        LedgerUnreachableError: the database does not answer, or a newer Tidegate wrote it.
    """
    with _opened(ledger) as engine:
        with reading(engine) as conn:
            if _is_current(conn):
                return
        with transaction(engine, begin_at_once=True) as conn:
            _lock(conn)
            steps = _steps(conn, engine)
            _drop_views(conn)
            command.upgrade(_config(conn), "head")
            catalog.create(conn)
            if any(getattr(step.module, "REBUILDS_REPORTS", False) for step in steps):
                for partition in conn.scalars(select(ledger_writer.c.partition)).all():
                    rebuild(conn, partition, pages(conn, partition))


def downgrade(ledger: str | Engine, revision: str) -> None:
    """Undo the migrations above ``revision``; "base" undoes all. The reports' views go with them.

    Raises:
        LedgerUnreachableError: the database does not answer, or a newer Tidegate wrote it.
    """
    with (
        _opened(ledger) as engine,
        transaction(engine, begin_at_once=True) as conn,
    ):
        _lock(conn)
        _steps(conn, engine)
        _drop_views(conn)
        command.downgrade(_config(conn), revision)


def check(engine: Engine) -> None:
    """Make sure that a ledger may be read by this version; changes nothing.

    Raises:
        LedgerUnreachableError: the database does not answer, holds no ledger, or its schema is
            another version's: the message says what to do.
    """
    with reading(engine) as conn:
        if _is_current(conn):
            return
        if MigrationContext.configure(conn).get_current_revision() is None:
            raise LedgerUnreachableError(
                f"There is no ledger in {shown(engine)}: a scheduler, or `tidegate ledger migrate`,"
                " makes one."
            )
        _steps(conn, engine)
    raise LedgerUnreachableError(
        f"The schema of {shown(engine)} is an older one: run `tidegate ledger migrate`,"
        " or start a scheduler of this version."
    )


def newest_revision() -> str:
    """Return the revision that this version's code expects."""
    head = _scripts().get_current_head()
    assert head is not None, "the migrations have one head"
    return head


@contextmanager
def _opened(ledger: str | Engine) -> Generator[Engine]:
    if isinstance(ledger, Engine):
        yield ledger
        return
    engine = open_engine(ledger)
    try:
        yield engine
    finally:
        engine.dispose()


def _is_current(conn: Connection) -> bool:
    revision = MigrationContext.configure(conn).get_current_revision()
    return revision == newest_revision() and catalog.current(conn)


def _steps(conn: Connection, engine: Engine) -> list[Script]:
    """Return the migrations that the database lacks, refusing one that is ahead of us."""
    revision = MigrationContext.configure(conn).get_current_revision()
    scripts = list(_scripts().walk_revisions())  # the newest first
    known = [script.revision for script in scripts]
    if revision is None:
        return scripts
    if revision not in known:
        raise LedgerUnreachableError(
            f"A newer Tidegate wrote {shown(engine)}: its schema is revision {revision}, and this "
            f"version knows up to {known[0]}. Use the newer version, or a copy from before."
        )
    return scripts[: known.index(revision)]


def _lock(conn: Connection) -> None:
    if conn.dialect.name == "postgresql":
        conn.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def _drop_views(conn: Connection) -> None:
    if inspect(conn).has_table(ledger_view.name):
        catalog.drop(conn)


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(_folder()))


def _config(conn: Connection) -> Config:
    config = Config(attributes={"connection": conn})
    config.set_main_option("script_location", str(_folder()).replace("%", "%%"))
    return config


def _folder() -> Path:
    assert migrations.__file__ is not None
    return Path(migrations.__file__).parent
