"""Statements as the driver takes them, for those that every turn runs.

SQLAlchemy looks at each statement, parameter and row again, which costs more than the database
does. These are compiled once for each dialect, take tuples, and go to the driver as they stand,
within the connection's own transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlalchemy import Connection, Dialect, Insert, Select, Update
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import DBAPIError

_STYLES: dict[str, Literal["qmark", "format"]] = {"sqlite": "qmark", "postgresql": "format"}
Row: TypeAlias = tuple[Any, ...]


class _Compiled(NamedTuple):
    text: str
    names: tuple[str, ...]  # of the parameters, in their order; one may stand there twice
    values: Mapping[str, Any]  # of those that the statement gives itself
    reading: tuple[Callable[[Any], Any] | None, ...]  # of each column that is read


class Positional:
    """A statement that writes many rows, each a tuple in the order of ``names``."""

    def __init__(self, statement: Insert | Update) -> None:
        self._statement = _Statement(statement)
        self.names = self._statement.compiled(sqlite.dialect()).names

    def execute(self, conn: Connection, rows: Sequence[Row]) -> int:
        """Run it on rows, of which there is at least one; return how many it found or made.

        Raises:
            DBAPIError: as SQLAlchemy tells it, e.g. IntegrityError: one is there already.
        """
        compiled = self._statement.compiled(conn.dialect)
        assert compiled.names == self.names
        with _Driven(conn, compiled.text) as cursor:
            if len(rows) == 1:
                cursor.execute(compiled.text, rows[0])
            else:
                cursor.executemany(compiled.text, rows)
            return int(cursor.rowcount)


class Reading:
    """A statement that reads rows, with its values by name."""

    def __init__(self, statement: Select[*tuple[Any, ...]]) -> None:
        self._statement = _Statement(statement)

    def rows(self, conn: Connection, values: Mapping[str, Any]) -> list[Row]:
        """Return the rows.

        Raises:
            DBAPIError: as SQLAlchemy tells it.
        """
        reading = self._statement.compiled(conn.dialect).reading
        text, parameters = self.asked(conn, values)
        with _Driven(conn, text) as cursor:
            cursor.execute(text, parameters)
            rows: list[Row] = cursor.fetchall()
        return [_read(row, reading) for row in rows] if reading else rows

    def asked(self, conn: Connection, values: Mapping[str, Any]) -> tuple[str, Row]:
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


class _Driven:
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
            self._give_up_lost(dialect, error)
            raise DBAPIError.instance(self._text, None, error, driver.Error) from error

    def _give_up_lost(self, dialect: DefaultDialect, error: BaseException) -> None:
        """Take a connection that is gone out of the pool, with all others to the same server."""
        raw: Any = self._conn.connection.dbapi_connection
        if isinstance(error, dialect.loaded_dbapi.Error) and dialect.is_disconnect(
            error, raw, None
        ):
            self._conn.invalidate(error)
            self._conn.engine.dispose()


def _read(row: Row, reading: Sequence[Callable[[Any], Any] | None]) -> Row:
    return tuple(
        value if process is None else process(value)
        for value, process in zip(row, reading, strict=True)
    )
