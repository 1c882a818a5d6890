"""Rows of a SQL report, for the command line."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, text

from store.failures import reading
from store.views.catalog import VIEWS, sql_of
from store.views.columns import View
from tidegate.errors import UnknownNameError


def rows(engine: Engine, name: str) -> list[dict[str, Any]]:
    """Return a report's rows, in the order of their values, whatever the database's collation.

    Raises:
        UnknownNameError: there is no such report.
        LedgerUnreachableError: the database does not answer.
    """
    view = report(name)
    with reading(engine) as conn:
        found = conn.execute(text(f"SELECT * FROM {view.name}"))  # noqa: S608 - a name of ours
        told = [dict(row) for row in found.mappings()]
    return sorted(told, key=lambda row: [(value is None, value) for value in row.values()])


def report(name: str) -> View:
    """Return the report of this name.

    Raises:
        UnknownNameError: there is none; the message lists those there are.
    """
    if name not in VIEWS:
        known = ", ".join(sorted(VIEWS))
        raise UnknownNameError(f"There is no report {name!r}. There are: {known}.")
    return VIEWS[name]


def statement(engine: Engine, name: str) -> str:
    """Return the SQL of a report, as this database runs it.

    Raises:
        UnknownNameError: there is no such report.
    """
    return sql_of(report(name), engine.dialect)
