"""Rows of a SQL report, for the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from store.views.texts import TEXTS, ViewText
from tidegate.errors import UnknownNameError


def rows(records: Callable[[str], list[dict[str, Any]]], name: str) -> list[dict[str, Any]]:
    """Return a report's rows, in the order of their values, whatever the database's collation.

    ``records`` runs a statement: ``store.reading.database.Database.records``.

    Raises:
        UnknownNameError: there is no such report.
        LedgerUnreachableError: the database does not answer.
    """
    told = records(f"SELECT * FROM {report(name).name}")  # noqa: S608 - a name of ours
    return sorted(told, key=lambda row: [(value is None, value) for value in row.values()])


def report(name: str) -> ViewText:
    """Return the report of this name.

    Raises:
        UnknownNameError: there is none; the message lists those there are.
    """
    if name not in TEXTS:
        known = ", ".join(sorted(TEXTS))
        raise UnknownNameError(f"There is no report {name!r}. There are: {known}.")
    return TEXTS[name]


def statement(dialect: str, name: str) -> str:
    """Return the SQL of a report, as this database runs it.

    Raises:
        UnknownNameError: there is no such report.
    """
    return report(name).sql[dialect]
