"""The rows of one table that a turn needs: read once, changed in memory, written once.

A turn may submit, admit and preempt the same workload; statement by statement that would be ten
round trips, and so it is three for any number of workloads. Statements are put together once for
all turns, since that costs more than running them.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import astuple, fields
from sqlalchemy import ColumnElement, Connection, Table, select

from store.statements.compiled import InsertInto, RowQuery, UpdateRows

Row = TypeVar("Row", bound=msgspec.Struct)


class TableMapping(Generic[Row]):
    """A table, the Struct whose fields are its columns, and the statements on it.

    What has a default in the Struct may change; the rest never does.
    """

    def __init__(self, table: Table, row: type[Row]) -> None:
        self.table, self.row = table, row
        self.key = tuple(column.name for column in table.primary_key.columns)
        names = row.__struct_fields__
        changing = [field.name for field in fields(row) if field.default is not NODEFAULT]
        immutable_columns = [key_of for key_of, name in enumerate(names) if name not in changing]
        self.fixed = itemgetter(*immutable_columns)
        self.place = itemgetter(*map(names.index, self.key))
        self.insert, self.update = InsertInto(table, row), UpdateRows(table, row, changing)

    def select(self, *where: ColumnElement[bool]) -> RowQuery:
        """Return the statement that reads the rows which fulfil all conditions, in any order.

        To ask for the key's order would mislead the database to the key's index.
        """
        return RowQuery(select(self.table).where(*where))


class RowSet(Generic[Row]):
    """The rows of one table that a turn needs."""

    def __init__(self, kind: TableMapping[Row]) -> None:
        self._kind = kind
        self._loaded: list[tuple[Row, tuple[Any, ...]]] = []  # beside each, how it was
        self._added: list[Row] = []

    def load(self, conn: Connection, reading: RowQuery, parameters: dict[str, Any]) -> None:
        """Add the rows that a statement reads; no row may be added twice."""
        row, names = self._kind.row, self._kind.row.__struct_fields__
        for was in sorted(reading.rows(conn, parameters), key=self._kind.place):
            self._loaded.append((row(**dict(zip(names, was, strict=True))), was))

    def add(self, row: Row) -> Row:
        """Add a new row."""
        self._added.append(row)
        return row

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in the order of the table's key, new rows last."""
        yield from (row for row, _ in self._loaded)
        yield from self._added

    def write(self, conn: Connection) -> None:
        """Write what changed, then what is new."""
        kind, changed = self._kind, list[Row]()
        for row, was in self._loaded:
            if (now := astuple(row)) != was:
                assert kind.fixed(now) == kind.fixed(was), "a field without default never changes"
                changed.append(row)
        if changed:
            kind.update.execute(conn, changed)
        if self._added:
            kind.insert.execute(conn, self._added)
