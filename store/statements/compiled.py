"""Statements that every turn runs, compiled once: reading rows, and writing many of one table.

SQLAlchemy looks at each statement, parameter and row again, which costs more than the database
does. These are compiled once for each dialect, take tuples, and go to the driver as they stand,
within the connection's own transaction.

SQLite takes many rows tuple by tuple through its driver, which is compiled for that. PostgreSQL's
driver would spend more on each row than the database does: there they are passed as one JSON
parameter of one statement. Entries, of which there are most, are copied in as a stream; reports'
rows cannot be, since policies may stand on their tables (``store.access.tenants``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec.structs import astuple
from sqlalchemy import (
    Column,
    Connection,
    Dialect,
    Insert,
    Select,
    Table,
    Update,
    bindparam,
    insert,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import DBAPIError

_STYLES: dict[str, Literal["qmark", "format"]] = {"sqlite": "qmark", "postgresql": "format"}
Values: TypeAlias = tuple[Any, ...]
FEW = 4
"""New rows for which a prepared statement costs PostgreSQL's driver less than to begin a stream."""
Row = TypeVar("Row", bound=msgspec.Struct)
_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy's own


class _Compiled(NamedTuple):
    text: str
    names: tuple[str, ...]  # of the parameters, in their order; one may stand there twice
    values: Mapping[str, Any]  # of those that the statement gives itself
    reading: tuple[Callable[[Any], Any] | None, ...]  # of each column that is read


class BatchStatement:
    """A statement that writes many rows, each a tuple in the order of ``names``."""

    def __init__(self, statement: Insert | Update) -> None:
        self._statement = _Statement(statement)
        self.names = self._statement.compiled(sqlite.dialect()).names

    def execute(self, conn: Connection, rows: Sequence[Values]) -> int:
        """Run it on rows, of which there is at least one; return how many it found or made.

        Raises:
            DBAPIError: as SQLAlchemy tells it, e.g. IntegrityError: one is there already.
        """
        compiled = self._statement.compiled(conn.dialect)
        assert compiled.names == self.names
        with _DriverCursor(conn, compiled.text) as cursor:
            if len(rows) == 1:
                cursor.execute(compiled.text, rows[0])
            else:
                cursor.executemany(compiled.text, rows)
            return int(cursor.rowcount)


class RowQuery:
    """A statement that reads rows, with its values by name."""

    def __init__(self, statement: Select[*tuple[Any, ...]]) -> None:
        self._statement = _Statement(statement)

    def rows(self, conn: Connection, values: Mapping[str, Any]) -> list[Values]:
        """Return the rows.

        Raises:
            DBAPIError: as SQLAlchemy tells it.
        """
        reading = self._statement.compiled(conn.dialect).reading
        text, parameters = self.driver_query(conn, values)
        with _DriverCursor(conn, text) as cursor:
            cursor.execute(text, parameters)
            rows: list[Values] = cursor.fetchall()
        return [_decode_row(row, reading) for row in rows] if reading else rows

    def driver_query(self, conn: Connection, values: Mapping[str, Any]) -> tuple[str, Values]:
        """Return what the driver is asked: the statement's text and its parameters."""
        compiled = self._statement.compiled(conn.dialect)
        merged = {**compiled.values, **values}
        return compiled.text, tuple(merged[name] for name in compiled.names)


class _Statement:
    """One statement, compiled when a dialect first runs it."""

    def __init__(self, statement: Insert | Update | Select[*tuple[Any, ...]]) -> None:
        self._statement = statement
        self._compiled = dict[str, _Compiled]()

    def compiled(self, dialect: Dialect) -> _Compiled:
        """Return it for a dialect."""
        if dialect.name not in self._compiled:
            assert isinstance(dialect, DefaultDialect)
            plain = type(dialect)(paramstyle=_STYLES[dialect.name])
            self._compiled[dialect.name] = self._compile(plain)
        return self._compiled[dialect.name]

    def _compile(self, dialect: DefaultDialect) -> _Compiled:
        compiled: Any = self._statement.compile(dialect=dialect)
        columns = self._statement.selected_columns if isinstance(self._statement, Select) else ()
        reading = tuple(column.type.result_processor(dialect, None) for column in columns)
        names = tuple(compiled.positiontup)
        return _Compiled(str(compiled), names, compiled.params, reading if any(reading) else ())


class _DriverCursor:
    """The driver's cursor within a connection's transaction; its errors become SQLAlchemy's."""

    def __init__(self, conn: Connection, text: str) -> None:
        self._conn, self._text = conn, text

    def __enter__(self) -> Any:  # noqa: ANN401 - the driver's
        if not self._conn.in_transaction():
            self._conn.begin()  # as SQLAlchemy's own statements do
        self._cursor: Any = self._conn.connection.cursor()
        return self._cursor

    def __exit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        self._cursor.close()
        dialect = self._conn.dialect
        assert isinstance(dialect, DefaultDialect)
        driver: Any = dialect.loaded_dbapi
        if error is not None and isinstance(error, driver.Error):
            self._invalidate_connection(dialect, error)
            raise DBAPIError.instance(self._text, None, error, driver.Error) from error

    def _invalidate_connection(self, dialect: DefaultDialect, error: BaseException) -> None:
        """Take a connection that is gone out of the pool, with all others to the same server."""
        raw: Any = self._conn.connection.dbapi_connection
        if isinstance(error, dialect.loaded_dbapi.Error) and dialect.is_disconnect(
            error, raw, None
        ):
            self._conn.invalidate(error)
            self._conn.engine.dispose()


def _decode_row(row: Values, reading: Sequence[Callable[[Any], Any] | None]) -> Values:
    return tuple(
        value if process is None else process(value)
        for value, process in zip(row, reading, strict=True)
    )


class CopyInto(Generic[Row]):
    """Writes new rows, none of which may be there, to a table without policies on its rows."""

    def __init__(self, table: Table, row: type[Row]) -> None:
        _check_columns(table, row)
        self._rows = _tuple_executor(insert(table))
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


class InsertInto(Generic[Row]):
    """Writes new rows; where a row of that key exists, ``otherwise`` says what happens."""

    def __init__(
        self, table: Table, row: type[Row], into: Insert | None = None, otherwise: str = ""
    ) -> None:
        """``into`` is the statement for SQLite; ``otherwise`` the end of PostgreSQL's."""
        _check_columns(table, row)
        self._rows = _tuple_executor(insert(table) if into is None else into)
        names = _names(table.c)
        rows = f"SELECT {names} FROM {_recordset(table.c)}"  # noqa: S608 - our names
        self._text = f"INSERT INTO {table.name} ({names}) {rows} {otherwise}"

    def execute(self, conn: Connection, rows: Sequence[Row]) -> None:
        """Write rows, of which there is at least one."""
        if conn.dialect.name == "postgresql":
            _execute(conn, self._text, rows)
        else:
            self._rows(conn, rows)


class UpdateRows(Generic[Row]):
    """Updates the columns that may change of existing rows, found by the table's key."""

    def __init__(self, table: Table, row: type[Row], changing: Sequence[str]) -> None:
        _check_columns(table, row)
        key = tuple(column.name for column in table.primary_key.columns)
        assert not set(key) & set(changing), f"{table.name}: a key never changes"
        this = [table.c[name] == bindparam(f"key_{name}") for name in key]
        change: dict[str, Any] = {name: bindparam(name) for name in changing}
        self._rows = _tuple_executor(update(table).where(*this).values(change))
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


def _tuple_executor(statement: Insert | Update) -> Callable[[Connection, Iterable[Any]], int]:
    written = BatchStatement(statement)
    fields = attrgetter(*(name.removeprefix("key_") for name in written.names))
    return lambda conn, rows: written.execute(conn, [fields(row) for row in rows])


def _check_columns(table: Table, row: type[msgspec.Struct]) -> None:
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
