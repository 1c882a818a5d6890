"""Rows of one table that a turn needs: read once, changed in memory, written once.

A turn may submit, admit and preempt the same workload; statement by statement that would be ten
round trips, and so it is three for any number of workloads. Statements are put together once for
all turns, since that costs more than running them.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import astuple
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    Table,
    bindparam,
    insert,
    select,
    update,
)

from store.positional import Positional

Row = TypeVar("Row", bound=msgspec.Struct)


class Kind(Generic[Row]):
    """A table, the Struct whose fields are its columns, and the statements on it."""

    def __init__(self, table: Table, row: type[Row]) -> None:
        assert tuple(column.name for column in table.columns) == row.__struct_fields__, table.name
        self.table, self.row = table, row
        self.key = tuple(column.name for column in table.primary_key.columns)
        this = [table.c[name] == bindparam(f"key_{name}") for name in self.key]
        change: dict[str, BindParameter[Any]] = {
            name: bindparam(name) for name in row.__struct_fields__ if name not in self.key
        }
        self.insert = Positional(insert(table))
        self.update = Positional(update(table).where(*this).values(change))
        self.inserted = attrgetter(*self.insert.names)
        self.updated = attrgetter(*(name.removeprefix("key_") for name in self.update.names))

    def select(self, *where: ColumnElement[bool]) -> Select[Any]:
        """Return the statement that reads the rows which fulfil all conditions, in any order.

        To ask for the key's order would mislead the database to the key's index.
        """
        return select(self.table).where(*where)


class Shelf(Generic[Row]):
    """The rows of one kind that a turn needs."""

    def __init__(self, kind: Kind[Row]) -> None:
        self._kind = kind
        self._loaded: list[tuple[Row, tuple[Any, ...]]] = []  # beside each, how it was
        self._added: list[Row] = []

    def load(self, conn: Connection, wanted: Select[Any], told: dict[str, Any]) -> None:
        """Add what a statement of this kind reads; nothing may be on the shelf twice."""
        row, fields = self._kind.row, self._kind.row.__struct_fields__
        place = itemgetter(*map(fields.index, self._kind.key))
        for was in sorted(map(tuple, conn.execute(wanted, told)), key=place):
            self._loaded.append((row(**dict(zip(fields, was, strict=True))), was))

    def add(self, row: Row) -> Row:
        """Put a new row on the shelf."""
        self._added.append(row)
        return row

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in the order of the table's key, the new ones last."""
        yield from (row for row, _ in self._loaded)
        yield from self._added

    def write(self, conn: Connection) -> None:
        """Write what changed, then what is new."""
        changed = [row for row, was in self._loaded if astuple(row) != was]
        kind = self._kind
        if changed:
            kind.update.execute(conn, [kind.updated(row) for row in changed])
        if self._added:
            kind.insert.execute(conn, [kind.inserted(row) for row in self._added])
