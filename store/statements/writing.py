"""Writing many rows of one table at once.

SQLite takes them tuple by tuple through its driver, which is compiled for that. PostgreSQL's driver
would spend more on each row than the database does: there they are passed as one JSON parameter of
one statement. Entries, of which there are most, are copied in as a stream; reports' rows cannot
be, since policies may stand on their tables (``store.access.tenants``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import astuple
from sqlalchemy import Column, Connection, Insert, Table, Update, bindparam, insert, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import DBAPIError

from store.statements.positional import Positional

FEW = 4
"""New rows for which a prepared statement costs PostgreSQL's driver less than to begin a stream."""
Row = TypeVar("Row", bound=msgspec.Struct)


class Copying(Generic[Row]):
    """Writes new rows, none of which may be there, to a table without policies on its rows."""

    def __init__(self, table: Table, row: type[Row]) -> None:
        _demand_columns(table, row)
        self._rows = _by_tuples(insert(table))
        self._text = f"COPY {table.name} ({_names(table.c)}) FROM STDIN (FORMAT BINARY)"
        self._types = [_type(column) for column in table.c]

    def execute(self, conn: Connection, rows: Sequence[Row]) -> None:
        """Write rows, of which there is at least one.

        Raises:
            DBAPIError: as SQLAlchemy tells it, e.g. IntegrityError: one is there already.
        """
        if conn.dialect.name != "postgresql" or len(rows) <= FEW:
            self._rows(conn, rows)
            return
        assert isinstance(conn.dialect, DefaultDialect)
        driver: Any = conn.dialect.loaded_dbapi
        try:
            self._copy(conn, rows)
        except driver.Error as error:
            raise DBAPIError.instance(self._text, None, error, driver.Error) from error

    def _copy(self, conn: Connection, rows: Sequence[Row]) -> None:
        cursor: Any = conn.connection.cursor()
        with cursor, cursor.copy(self._text) as copy:
            copy.set_types(self._types)
            for row in rows:
                copy.write_row(astuple(row))


class Inserting(Generic[Row]):
    """Writes new rows; where a row of that key exists, ``otherwise`` says what happens."""

    def __init__(
        self, table: Table, row: type[Row], into: Insert | None = None, otherwise: str = ""
    ) -> None:
        """``into`` is the statement for SQLite; ``otherwise`` the end of PostgreSQL's."""
        _demand_columns(table, row)
        self._rows = _by_tuples(insert(table) if into is None else into)
        names = _names(table.c)
        rows = f"SELECT {names} FROM {_recordset(table.c)}"  # noqa: S608 - our names
        self._text = f"INSERT INTO {table.name} ({names}) {rows} {otherwise}"

    def execute(self, conn: Connection, rows: Sequence[Row]) -> None:
        """Write rows, of which there is at least one."""
        if conn.dialect.name == "postgresql":
            _execute(conn, self._text, rows)
        else:
            self._rows(conn, rows)


class Updating(Generic[Row]):
    """Updates the columns that may change of existing rows, found by the table's key."""

    def __init__(self, table: Table, row: type[Row], changing: Sequence[str]) -> None:
        _demand_columns(table, row)
        key = tuple(column.name for column in table.primary_key.columns)
        assert not set(key) & set(changing), f"{table.name}: a key never changes"
        this = [table.c[name] == bindparam(f"key_{name}") for name in key]
        change: dict[str, Any] = {name: bindparam(name) for name in changing}
        self._rows = _by_tuples(update(table).where(*this).values(change))
        source = _recordset(table.c[name] for name in (*key, *changing))
        to = ", ".join(f"{_quoted(name)} = given.{_quoted(name)}" for name in changing)
        matches = " AND ".join(f"it.{_quoted(name)} = given.{_quoted(name)}" for name in key)
        self._text = f"UPDATE {table.name} AS it SET {to} FROM {source} WHERE {matches}"  # noqa: S608

    def execute(self, conn: Connection, rows: Sequence[Row]) -> None:
        """Write rows, of which there is at least one."""
        if conn.dialect.name == "postgresql":
            _execute(conn, self._text, rows)
        else:
            self._rows(conn, rows)


def _execute(conn: Connection, statement: str, rows: Sequence[msgspec.Struct]) -> None:
    conn.exec_driver_sql(statement, (msgspec.json.encode(rows).decode(),))


def _by_tuples(statement: Insert | Update) -> Callable[[Connection, Iterable[Any]], int]:
    written = Positional(statement)
    fields = attrgetter(*(name.removeprefix("key_") for name in written.names))
    return lambda conn, rows: written.execute(conn, [fields(row) for row in rows])


def _demand_columns(table: Table, row: type[msgspec.Struct]) -> None:
    assert tuple(table.c.keys()) == row.__struct_fields__, table.name


def _recordset(columns: Iterable[Column[Any]]) -> str:
    """Return SQL that reads the JSON parameter as rows of these columns, named ``given``."""
    types = ", ".join(f"{_quoted(column.name)} {_type(column)}" for column in columns)
    return f"json_to_recordset(%s::json) AS given({types})"


def _names(columns: Iterable[Column[Any]]) -> str:
    return ", ".join(_quoted(column.name) for column in columns)


def _type(column: Column[Any]) -> str:
    """Return a column's type in PostgreSQL as its driver knows it, too: without a length."""
    return column.type.compile(_DIALECT).lower().partition("(")[0]


def _quoted(name: str) -> str:
    return _DIALECT.identifier_preparer.quote(name)


_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy's own
