"""Audit a database: find rows that do not follow from its events.

The chain of hashes proves only the rows of events. All other rows are computed again from the
events in memory, or read from the archive files, and compared.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Table, select, text

from store.access.engine import read_transaction, select_through
from store.archive import archive_ranges
from store.archive.archive_format import sha256_of
from store.partitions.making import BODY, SIGNATURE, function_settings
from store.reading.about import partitions
from store.reading.as_of import reports_as_of
from store.reading.entries import read_pages
from store.reporting.projection import REPORTS
from store.schema import report_state
from store.schema.retention import is_retained
from store.tables import ledger_archive, ledger_event, ledger_position, ledger_snapshot
from store.views.texts import TEXTS, ViewText
from tidegate.contracts.codec import decode, type_name
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import LedgerOpened
from tidegate.contracts.subjects import event_subject as subject_of
from tidegate.errors import LedgerUnreachableError

_LEDGER = (ledger_event, ledger_position, ledger_snapshot, ledger_archive)
_TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY name",
    "postgresql": "SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    " WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace ORDER BY 1",
}
_FUNCTION = (
    "SELECT p.prosrc, p.prosecdef, p.proconfig, l.lanname, quote_ident(current_schema()) AS schema"
    " FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang"
    " WHERE p.oid = to_regprocedure(:signature)"
)
_DIGITS = 9
"""Of a double: sums may be made in another order."""


class Finding(NamedTuple):
    """One difference between the database and its events."""

    where: str  # a table, view, trigger or file, or an event's seq
    what: str


def audit_reports(engine: Engine, histories: Mapping[int, Iterable[Entry]]) -> Iterator[Finding]:
    """Yield what differs; ``histories`` are each partition's, their chains to be checked elsewhere.

    Beside a running service: what was written behind a history is read when it ends, in the
    transaction that reads the rows. As long as to make the reports again, and in memory all rows.

    Raises:
        LedgerUnreachableError: the database does not answer, or is a standby.
    """
    findings = list[Finding]()
    with ExitStack() as opened:
        lent = list[Connection]()

        def all_entries(partition: int, history: Iterable[Entry]) -> Iterator[Entry]:
            last = 0
            for entry in history:
                yield entry
                last = entry.seq
            if not lent:
                lent.append(opened.enter_context(_at_one_moment(engine)))
            for page in read_pages(select_through(lent[0]), partition, last):
                yield from page

        looked_at = (_check_columns(all_entries(*each), findings) for each in histories.items())
        rebuilt = opened.enter_context(reports_as_of(*looked_at))
        yield from findings
        yield from _compare_tables(lent[0], rebuilt)


def _compare_tables(conn: Connection, rebuilt: Engine) -> Iterator[Finding]:
    numbers = partitions(select_through(conn))
    before_us = {each: report_state.read_report_state(conn, each).kept_from_us for each in numbers}
    for table in REPORTS:
        yield from _compare_rows(conn, rebuilt, table, before_us)
    yield from _audit_views(conn)
    for name in conn.scalars(text(_TRIGGERS[conn.dialect.name])):
        yield Finding(f"trigger {name}", "Tidegate makes none")
    if conn.dialect.name == "postgresql":
        yield from _audit_function(conn)
    yield from _audit_partitions(conn, numbers)
    for partition in numbers:
        yield from _audit_archives(conn, partition)


@contextmanager
def _at_one_moment(engine: Engine) -> Generator[Connection]:
    """Lend a connection that sees one moment of the database; its writes are rolled back."""
    with read_transaction(engine) as conn:
        if conn.dialect.name == "postgresql":
            # Read-write, also for a role that reads by default: temporary views are made in it.
            conn.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=False)
        yield conn


def _check_columns(entries: Iterable[Entry], findings: list[Finding]) -> Iterator[Entry]:
    """Yield the entries, and record those whose columns differ from their payload."""
    cluster = ""
    for entry in entries:
        event = decode(entry.payload)
        if isinstance(event, LedgerOpened):
            cluster = event.cluster
        cluster = cluster or entry.cluster
        columns = {
            "at_us": event.at_us,
            "type": type_name(event),
            "cluster": cluster,
            "subject": subject_of(cluster, event, entry.partition),
        }
        for name, value in columns.items():
            if getattr(entry, name) != value:
                stored = getattr(entry, name)
                findings.append(
                    Finding(f"seq {entry.seq}", f"{name} is {stored!r}, its payload says {value!r}")
                )
        yield entry


def _compare_rows(
    conn: Connection, rebuilt: Engine, table: Table, before_us: Mapping[int, int]
) -> Iterator[Finding]:
    """Compare one table, but for rows that expired from the reports."""
    with read_transaction(rebuilt) as other:
        right, current = _rows_by_key(other, table, before_us), _rows_by_key(conn, table, before_us)
    wrong = sorted(key for key in current.keys() & right.keys() if current[key] != right[key])
    for keys, problem in (
        (wrong, "differ"),
        (sorted(right.keys() - current.keys()), "are missing"),
        (sorted(current.keys() - right.keys()), "are too many"),
    ):
        if keys:
            yield Finding(table.name, f"{len(keys)} rows {problem}, the first at {keys[0]}")


def _rows_by_key(
    conn: Connection, table: Table, before_us: Mapping[int, int]
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    key = [column.name for column in table.primary_key.columns]
    rows = (dict(row) for row in conn.execute(select(table)).mappings())
    retained = (row for row in rows if is_retained(table, row, before_us.get(row["partition"], 0)))
    return {
        tuple(row[name] for name in key): tuple(map(_comparable, row.values())) for row in retained
    }


def _comparable(value: object) -> object:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else value


def _audit_views(conn: Connection) -> Iterator[Finding]:
    for view in TEXTS.values():
        actual, expected = _definitions(conn, view)
        if actual is None:
            yield Finding(f"view {view.name}", "it is missing")
        elif actual != expected:
            yield Finding(f"view {view.name}", "it is another than this version makes")


def _definitions(conn: Connection, view: ViewText) -> tuple[str | None, str]:
    """Return a view's definition as the database has it, and as it should have it."""
    sql = view.sql[conn.dialect.name]
    if conn.dialect.name == "sqlite":
        query = text("SELECT sql FROM sqlite_master WHERE type = 'view' AND name = :name")
        return conn.scalar(query, {"name": view.name}), f"CREATE VIEW {view.name} AS {sql}"
    # The database's own words for the same text; the transaction is rolled back.
    as_it_is = {"no_parameters": True}
    conn.exec_driver_sql(f"CREATE TEMP VIEW as_made AS {sql}", execution_options=as_it_is)
    definition_query = text("SELECT pg_get_viewdef(to_regclass(:name))")
    schema = conn.scalar(text("SELECT current_schema()"))
    actual, rebuilt = (
        conn.scalar(definition_query, {"name": n}) for n in (f"{schema}.{view.name}", "as_made")
    )
    conn.execute(text("DROP VIEW as_made"))
    return actual, str(rebuilt)


def _audit_function(conn: Connection) -> Iterator[Finding]:
    """Yield in what the function that makes partitions, with its owner's rights, is another."""
    where = f"function {SIGNATURE}"
    row = conn.execute(text(_FUNCTION), {"signature": SIGNATURE}).one_or_none()
    if row is None:
        yield Finding(where, "it is missing")
        return
    expected = (BODY, True, function_settings(row.schema), "plpgsql")
    if (row.prosrc, row.prosecdef, row.proconfig, row.lanname) != expected:
        yield Finding(where, "it is another than this version makes")


def _audit_partitions(conn: Connection, numbers: Sequence[int]) -> Iterator[Finding]:
    for table in _LEDGER:
        others = conn.scalars(
            select(table.c.partition).where(table.c.partition.not_in(numbers)).distinct()
        ).all()
        if others:
            yield Finding(table.name, f"rows of partitions {sorted(others)}, which have no writer")


def _audit_archives(conn: Connection, partition: int) -> Iterator[Finding]:
    for part in archive_ranges.archived_ranges(select_through(conn), partition):
        try:
            archive, path = part.archive(), part.path()
        except LedgerUnreachableError as error:
            yield Finding(part.file, str(error))
            continue
        if sha256_of(path) != part.digest:
            yield Finding(part.file, "its SHA-256 is not the one that ledger_archive has")
        last = next(archive.back(part.seq, 1), None)
        if last is None or last.hash != part.hash:
            yield Finding(part.file, f"its end is not the seq {part.seq} of ledger_archive")
