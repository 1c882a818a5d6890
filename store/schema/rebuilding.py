"""The reports' rows made again in PostgreSQL, beside the running services.

The new rows are written to tables of a separate schema, page by page, each page in its own
transaction, so that an interrupted rebuild continues from its last page. The writer waits only at
the end, while the newest events are added and the new tables replace the old ones.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice

from sqlalchemy import Connection, Engine, select, text

from store.access.engine import read_transaction, select_through, selecting, transaction
from store.archive import archive_ranges
from store.reading import entries
from store.reading.about import partitions
from store.reading.entries import PAGE_ROWS
from store.reporting.projection import REPORTS, project
from store.schema import report_state
from store.schema.retention import delete_expired
from store.schema.rights import grant_statements, read_view_rights, restore_rights
from store.schema.version import revisions
from store.tables import ledger_writer, metadata
from store.views import creating
from tidegate.contracts.entry import Entry
from tidegate.errors import LedgerUnreachableError

SCHEMA = "tidegate_rebuild"
"""``deploy/sql/roles.sql`` creates it for the owner, which needs no right to create schemas."""
_LOCK = 7_116_100_106
"""PostgreSQL's advisory lock for rebuilding: any number that is only ours."""
_LOCK_TIMEOUT = "10s"
_PROGRESS = f"{SCHEMA}.progress"
_MAKE_PROGRESS = (
    "CREATE TABLE progress (partition integer PRIMARY KEY, seq bigint, at_us bigint, version text)"
)
_BEGIN = "INSERT INTO progress SELECT partition, 0, NULL, :begun FROM ledger_writer"
_IS_OF = f"SELECT 1 FROM {_PROGRESS} WHERE version = :begun LIMIT 1"  # noqa: S608 - ours
_REACHED = "SELECT seq, at_us FROM progress WHERE partition = :partition"
_REACH = (
    "INSERT INTO progress VALUES (:partition, :seq, :at_us, NULL)"  # it may be new since the begin
    " ON CONFLICT (partition) DO UPDATE SET seq = excluded.seq, at_us = excluded.at_us"
)
_OPTIONS = "SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = to_regclass(:name)"


def rebuild_online(engine: Engine, rows: int = PAGE_ROWS) -> Generator[int]:
    """Make the rows of all partitions again, since one table has those of all.

    Yields the seq that was reached in a partition, after each page of ``rows`` events.

    Raises:
        LedgerUnreachableError: the database does not answer, another process rebuilds, or there is
            no schema to rebuild in: the message says what to do.
    """
    with _rebuild_lock(engine):
        _create_rebuild_tables(engine)
        with selecting(engine) as selected:
            numbers = partitions(selected)
        for partition in numbers:
            yield from _rebuild_partition(engine, partition, rows)
        with _rebuild_transaction(engine) as conn:
            for partition in numbers:
                delete_expired(
                    conn, report_state.read_report_state(conn, partition).kept_from_us, partition
                )
        with _rebuild_transaction(engine) as conn:
            for table in REPORTS:
                conn.execute(text(f"ANALYZE {SCHEMA}.{table.name}"))
        _swap_tables(engine, rows)


def _rebuild_partition(engine: Engine, partition: int, rows: int) -> Generator[int]:
    count = rows
    while count == rows:
        with _rebuild_transaction(engine) as conn:
            seq, count = _project_page(conn, partition, rows)
        yield seq


@contextmanager
def _rebuild_lock(engine: Engine) -> Generator[None]:
    with read_transaction(engine) as conn:
        if not conn.scalar(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": _LOCK}):
            raise LedgerUnreachableError("Another process is rebuilding these reports.")
        yield


@contextmanager
def _rebuild_transaction(engine: Engine) -> Generator[Connection]:
    """Lend a transaction whose search path finds the new tables instead of the old."""
    with transaction(engine) as conn:
        conn.execute(text(f"SET LOCAL search_path = {SCHEMA}, {_live_schema(conn)}"))
        yield conn


def _live_schema(conn: Connection) -> str:
    return str(conn.scalar(text("SELECT quote_ident(current_schema())")))


def _create_rebuild_tables(engine: Engine) -> None:
    """Make the new tables, unless this version has begun already."""
    begun = f"{version('tidegate')} {revisions()[-1]}"
    with transaction(engine) as conn:
        _make_schema(conn)
        progress_table = conn.scalar(text("SELECT to_regclass(:name)"), {"name": _PROGRESS})
        if progress_table and conn.scalar(text(_IS_OF), {"begun": begun}):
            return
        options = {
            table.name: conn.scalar(text(_OPTIONS), {"name": table.name}) for table in REPORTS
        }
        home = _live_schema(conn)
        for name in (*(table.name for table in REPORTS), "progress"):
            conn.execute(text(f"DROP TABLE IF EXISTS {SCHEMA}.{name}"))
        conn.execute(text(f"SET LOCAL search_path = {SCHEMA}, {home}"))
        metadata.create_all(conn, tables=REPORTS, checkfirst=False)
        for name, kept_options in options.items():
            if kept_options:
                conn.execute(text(f"ALTER TABLE {name} SET ({kept_options})"))
        conn.execute(text(_MAKE_PROGRESS))
        conn.execute(text(_BEGIN), {"begun": begun})


def _make_schema(conn: Connection) -> None:
    query = text(
        "SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = :name"
    )
    may = conn.scalar(query, {"name": SCHEMA})
    if may is None and conn.scalar(
        text("SELECT has_database_privilege(current_database(), 'CREATE')")
    ):
        conn.execute(text(f"CREATE SCHEMA {SCHEMA}"))
    elif not may:
        raise LedgerUnreachableError(
            f"Reports are made again in the schema {SCHEMA}, where this role may not make tables:"
            " name the ledger with the role that owns its tables, and run deploy/sql/roles.sql,"
            " which makes the schema."
        )


def _next_page(conn: Connection, partition: int, after: int, rows: int) -> list[Entry]:
    """Return the next entries, archived entries first; fewer than ``rows`` at the end."""
    selected = select_through(conn)
    ranges = [
        part for part in archive_ranges.archived_ranges(selected, partition) if part.seq > after
    ]
    archived = list(islice(archive_ranges.read_archived(ranges, after, None), rows))
    last = archived[-1].seq if archived else after
    return archived + entries.read_page(selected, partition, last, rows=rows - len(archived))


def _project_page(conn: Connection, partition: int, rows: int) -> tuple[int, int]:
    """Project a partition's next page; return the seq that it reaches, and how many entries."""
    after, since_us = conn.execute(text(_REACHED), {"partition": partition}).first() or (0, None)
    page = _next_page(conn, partition, after, rows)
    if not page:
        return after, 0
    project(conn, page, page[0].at_us if since_us is None else since_us)
    last = {"partition": partition, "seq": page[-1].seq, "at_us": page[-1].at_us}
    conn.execute(text(_REACH), last)
    return page[-1].seq, len(page)


def _swap_tables(engine: Engine, rows: int) -> None:
    """Add the newest events, and replace the old tables by the new."""
    with transaction(engine) as conn:
        conn.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'"))
        # Every append locks its writer's row first, so none comes in between.
        conn.execute(select(ledger_writer.c.epoch).with_for_update())
        home = _live_schema(conn)
        conn.execute(text(f"SET LOCAL search_path = {SCHEMA}, {home}"))
        numbers = partitions(select_through(conn))
        for partition in numbers:
            while _project_page(conn, partition, rows)[1]:
                pass
        conn.execute(text(f"SET LOCAL search_path = {home}"))
        readers = read_view_rights(conn)
        creating.drop(conn)
        for table in REPORTS:
            rights = list(grant_statements(conn, table.name))
            conn.execute(text(f"DROP TABLE {table.name}"))
            conn.execute(text(f"ALTER TABLE {SCHEMA}.{table.name} SET SCHEMA {home}"))
            for statement in rights:
                conn.exec_driver_sql(statement, execution_options={"no_parameters": True})
        conn.execute(text(f"DROP TABLE {_PROGRESS}"))
        creating.create(conn)
        restore_rights(conn, readers)
        for partition in numbers:
            state = report_state.read_report_state(conn, partition)
            report_state.write_report_state(conn, partition, state._replace(stale=""))
