"""Statements as the driver takes them, for the few that run on thousands of rows.

SQLAlchemy looks at each parameter of each row, which costs more than the database does. These are
compiled once, take tuples, and go to the driver as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import Connection, Insert, Update
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine.default import DefaultDialect

_STYLES: dict[str, Literal["qmark", "format"]] = {"sqlite": "qmark", "postgresql": "format"}


class Positional:
    """A statement that writes many rows, each a tuple in the order of ``names``."""

    def __init__(self, statement: Insert | Update) -> None:
        self._statement = statement
        self._texts = dict[str, str]()  # by dialect
        self.names = _positions(statement, sqlite.dialect(paramstyle="qmark"))[1]

    def execute(self, conn: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run it on rows, of which there is at least one."""
        name = conn.dialect.name
        if name not in self._texts:
            assert isinstance(conn.dialect, DefaultDialect)
            plain = type(conn.dialect)(paramstyle=_STYLES[name])
            self._texts[name], names = _positions(self._statement, plain)
            assert names == self.names
        conn.exec_driver_sql(self._texts[name], rows[0] if len(rows) == 1 else list(rows))


def _positions(statement: Insert | Update, dialect: DefaultDialect) -> tuple[str, tuple[str, ...]]:
    compiled: Any = statement.compile(dialect=dialect)
    return str(compiled), tuple(compiled.positiontup)
