"""Rights in PostgreSQL: the writer appends to the ledger and cannot alter it; readers read.

SQLite has no roles. A migration recreates views and keeps their rights; new tables, and
views after a downgrade, have none until rights are given again.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from store.access.engine import open_engine, transaction
from store.partitions.making import SIGNATURE, is_partition
from store.schema.version import VERSION_TABLE
from store.tables import ledger_archive, ledger_event, ledger_schema, ledger_view, report_state
from tidegate.errors import NotSupportedError

RIGHTS = {
    ledger_event.name: "SELECT, INSERT",  # history: never changed
    ledger_archive.name: "SELECT",  # archiving is the owner's
    ledger_view.name: "SELECT",
    ledger_schema.name: "SELECT",
    report_state.name: "SELECT",
    VERSION_TABLE: "SELECT",
}
"""What the writer may do to a table; to all others whatever it likes."""
ALL = "SELECT, INSERT, UPDATE, DELETE"


def grant(ledger: str, *, writer: str = "", reader: str = "") -> None:
    """Give two roles of PostgreSQL what they work with; an empty name is left out.

    Raises:
        LedgerUnreachableError: the database does not answer.
        NotSupportedError: the ledger is in SQLite.
    """
    engine = open_engine(ledger)
    try:
        if engine.dialect.name != "postgresql":
            raise NotSupportedError("Only PostgreSQL has roles to give rights to.")
        with transaction(engine, begin_at_once=True) as conn:
            if writer:
                _grant_to_writer(conn, writer)
            if reader:
                _grant_to_reader(conn, reader)
    finally:
        engine.dispose()


def _grant_to_writer(conn: Connection, role: str) -> None:
    for table in _grantable_tables(conn):
        _execute_for_role(conn, f"REVOKE ALL ON {{}} FROM {_quoted_name(conn, role)}", table)
        _execute_for_role(
            conn, f"GRANT {RIGHTS.get(table, ALL)} ON {{}} TO {_quoted_name(conn, role)}", table
        )

    conn.execute(text(f"GRANT EXECUTE ON FUNCTION {SIGNATURE} TO {_quoted_name(conn, role)}"))


def _grantable_tables(conn: Connection) -> list[str]:
    """Return the tables but for partitions: rights on the whole are asked, and none on these."""
    return [name for name in inspect(conn).get_table_names() if not is_partition(name)]


def _grant_to_reader(conn: Connection, role: str) -> None:
    for name in (*_grantable_tables(conn), *inspect(conn).get_view_names()):
        _execute_for_role(conn, f"GRANT SELECT ON {{}} TO {_quoted_name(conn, role)}", name)


def _execute_for_role(conn: Connection, statement: str, name: str) -> None:
    conn.execute(text(statement.format(_quoted_name(conn, name))))


def _quoted_name(conn: Connection, name: str) -> str:
    return conn.dialect.identifier_preparer.quote(name)
