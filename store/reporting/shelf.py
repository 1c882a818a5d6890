"""Rows of one table that a turn needs: read once, changed in memory, written once.

A turn may submit, admit and preempt the same workload; statement by statement that would be ten
round trips, and so it is three for any number of workloads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import asdict, astuple
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Table,
    bindparam,
    insert,
    select,
    update,
)

Row = TypeVar("Row", bound=msgspec.Struct)


class Shelf(Generic[Row]):
    """The rows of one table, as Structs whose fields are its columns."""

    def __init__(self, table: Table, kind: type[Row]) -> None:
        assert tuple(table.c.keys()) == kind.__struct_fields__, table.name
        self._table, self._kind = table, kind
        self._loaded: list[tuple[Row, tuple[Any, ...]]] = []  # beside each, how it was
        self._added: list[Row] = []

    def load(self, conn: Connection, where: ColumnElement[bool]) -> None:
        """Add the rows that fulfil a condition; nothing may be on the shelf twice."""
        fields = self._kind.__struct_fields__
        wanted = select(self._table).where(where).order_by(*self._table.primary_key.columns)
        for values in conn.execute(wanted):
            was = tuple(values)
            self._loaded.append((self._kind(**dict(zip(fields, was, strict=True))), was))

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
        if changed:
            self._update(conn, changed)
        if self._added:
            conn.execute(insert(self._table), [asdict(row) for row in self._added])

    def _update(self, conn: Connection, rows: list[Row]) -> None:
        key = [column.name for column in self._table.primary_key.columns]
        this = [self._table.c[name] == bindparam(f"key_{name}") for name in key]
        names = [column.name for column in self._table.columns]
        change: dict[str, BindParameter[Any]] = {
            name: bindparam(name) for name in names if name not in key
        }
        bound = [
            {f"key_{name}" if name in key else name: value for name, value in asdict(row).items()}
            for row in rows
        ]
        conn.execute(update(self._table).where(*this).values(change), bound)
