"""How a ledger's schema is brought up to date, by a role that may write.

Migrations change tables. Views are code, so all of them are created again after any migration. If a
migration changes how reporting tables are computed, their rows are computed again from the events:
in SQLite at once, in PostgreSQL by ``store.schema.rebuilding`` while the services run. Alembic is
imported only when there is something to migrate, since the import takes longer than most reads.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, select, text

from store.access.engine import (
    open_engine,
    read_transaction,
    redacted_url,
    select_through,
    selecting,
    transaction,
)
from store.archive.archive_ranges import all_pages
from store.reporting.projection import rebuild
from store.schema import report_state
from store.schema import version as schema
from store.schema.retention import delete_expired
from store.schema.rights import Rights, read_view_rights, restore_rights
from store.schema.version import (
    SCHEMA_TABLE,
    VIEW_TABLE,
    has_table,
    is_current,
    migrations_folder,
    refuse_newer,
    revision,
)
from store.tables import ledger_schema, ledger_writer
from store.views import creating
from tidegate.errors import UnknownNameError, existing

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import Script

__all__ = ["check", "downgrade", "downgrade_steps", "prepare", "rebuild_reports", "upgrade"]

_LOCK = 7_116_100_103
"""PostgreSQL's advisory lock for migrations: any number that is only ours."""
_LOCK_TIMEOUT = "10s"
"""For a table lock: all others queue behind a session that waits for one, so it is given up."""


def upgrade(ledger: str | Engine) -> None:
    """Bring a ledger's schema to this version's; does nothing if it is there already.

    Several services may call it at once: one migrates, the others wait.

    Raises:
        LedgerUnreachableError: the database does not answer, or a newer Tidegate wrote it.
    """
    with _engine_of(ledger) as engine:
        with selecting(engine) as select:
            if is_current(select, engine.dialect.name):
                return
            at = revision(select, engine.dialect.name)
        refuse_newer(redacted_url(engine), at)
        prepare(engine, at)
        with _migration(engine) as (conn, rights):
            from alembic import command  # noqa: PLC0415 - see above

            current = revision(select_through(conn), conn.dialect.name)
            command.upgrade(_config(conn), "head")
            _record_readers(conn)
            creating.create(conn)
            restore_rights(conn, rights)
            _refresh_reports(conn, current)


def downgrade(ledger: str | Engine, to: str) -> None:
    """Undo the migrations above revision ``to``; "base" undoes all. The views go with them.

    The version whose newest revision that is makes its own views when it next migrates.

    Raises:
        LedgerUnreachableError: the database does not answer, or a newer Tidegate wrote it.
        NotSupportedError: a migration cannot be undone without losing history.
    """
    with _engine_of(ledger) as engine, _migration(engine) as (conn, _):
        from alembic import command  # noqa: PLC0415 - see above

        command.downgrade(_config(conn), to)
        _record_readers(conn)


def downgrade_steps(engine: Engine, to: str) -> list[tuple[str, str]]:
    """Return what a downgrade to a revision undoes, the newest first: a revision and its purpose.

    Raises:
        LedgerUnreachableError: see ``store.schema.version.check_schema``.
        UnknownNameError: there is no such revision below the ledger's own.
    """
    with selecting(engine) as select:
        schema.check_schema(select, engine.dialect.name, redacted_url(engine), writes=True)
        current = revision(select, engine.dialect.name)
    below = [step for step in schema.revisions() if current is None or step < current]
    if to not in below:
        raise UnknownNameError(
            f"There is no revision {to} below {current}. {existing(', '.join(below))}"
        )
    return [
        (step.revision, step.doc) for step in _migrations() if to < step.revision <= str(current)
    ]


def check(engine: Engine, *, writes: bool = False) -> None:
    """See ``store.schema.version.check_schema``."""
    with selecting(engine) as select:
        schema.check_schema(select, engine.dialect.name, redacted_url(engine), writes=writes)


def rebuild_reports(ledger: str | Engine) -> None:
    """Create the rows of the reporting tables again in one transaction; the writer waits.

    Raises:
        LedgerUnreachableError: the database does not answer, or its schema is another version's.
    """
    with _engine_of(ledger) as engine:
        check(engine, writes=True)
        with transaction(engine, begin_at_once=True) as conn:
            # Every append locks its writer's row first, so none comes in between.
            conn.execute(select(ledger_writer.c.epoch).with_for_update())
            _rebuild(conn)


@contextmanager
def _migration(engine: Engine) -> Generator[tuple[Connection, dict[str, Rights]]]:
    """Lend a connection that holds the migration lock, after the views were dropped.

    Also yields the views' rights, so that they can be granted again.
    """
    rights = dict[str, Rights]()
    with transaction(engine, begin_at_once=True) as conn:
        if conn.dialect.name == "postgresql":
            conn.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            conn.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'"))
        refuse_newer(redacted_url(engine), revision(select_through(conn), conn.dialect.name))
        if has_table(select_through(conn), conn.dialect.name, VIEW_TABLE):
            rights = read_view_rights(conn)
            creating.drop(conn)
        yield conn, rights


@contextmanager
def _engine_of(ledger: str | Engine) -> Generator[Engine]:
    if isinstance(ledger, Engine):
        yield ledger
        return
    engine = open_engine(ledger)
    try:
        yield engine
    finally:
        engine.dispose()


def _rebuild(conn: Connection) -> None:
    for partition in conn.scalars(select(ledger_writer.c.partition)).all():
        rebuild(conn, partition, all_pages(select_through(conn), partition))
        state = report_state.read_report_state(conn, partition)
        delete_expired(conn, state.kept_from_us, partition)
        report_state.write_report_state(conn, partition, state._replace(stale=""))


def prepare(engine: Engine, current: str | None) -> None:
    """Run what migrations do beforehand, while others write; a new ledger has nothing to prepare.

    Raises:
        LedgerUnreachableError: the database does not answer, or another session holds a lock.
    """
    if current is None:
        return
    with read_transaction(engine) as conn:
        if conn.dialect.name == "postgresql":  # of many that come at once one does it
            conn.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        for step in reversed(list(_migrations())):
            beforehand = getattr(step.module, "prepare", None)
            if beforehand is not None and step.revision > current:
                beforehand(engine)


def _refresh_reports(conn: Connection, current: str | None) -> None:
    """Make the reports' rows again, or write down that it is to be done beside the services."""
    stale = "" if current is None else _newest_rebuild_reason(current)
    if stale and conn.dialect.name == "sqlite":
        _rebuild(conn)
    elif stale:
        _record_stale(conn, stale)


def _newest_rebuild_reason(current: str) -> str:
    """Return the newest migration above a revision that changes what reports are made of, or ""."""
    above = (step for step in _migrations() if step.revision > current)
    return next((step.revision for step in above if step.module.REBUILDS_REPORTS), "")


def _record_stale(conn: Connection, reason: str) -> None:
    """Write down that rows are to be made again: beside the services, not while they wait."""
    for partition in conn.scalars(select(ledger_writer.c.partition)).all():
        state = report_state.read_report_state(conn, partition)
        report_state.write_report_state(conn, partition, state._replace(stale=reason))


def _record_readers(conn: Connection) -> None:
    """Write down which versions may read what the migrations left."""
    select_, dialect = select_through(conn), conn.dialect.name
    if not has_table(select_, dialect, SCHEMA_TABLE):
        return
    at = revision(select_, dialect)
    readable_from = next(step.module.READABLE_FROM for step in _migrations() if step.revision == at)
    conn.execute(ledger_schema.delete())
    conn.execute(ledger_schema.insert().values(readable_from=readable_from))


def _migrations() -> Iterator[Script]:
    """Return this version's migrations, the newest first."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - see above

    return ScriptDirectory(str(migrations_folder())).walk_revisions()


def _config(conn: Connection) -> Config:
    from alembic.config import Config  # noqa: PLC0415 - see above

    config = Config(attributes={"connection": conn})
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    return config
