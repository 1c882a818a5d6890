"""Rows of a SQL report, for the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from store.views.texts import TEXTS, ViewText
from tidegate.errors import NotSupportedError, UnknownNameError

_NAME = re.compile(r"[a-z0-9][-a-z0-9./]{0,316}", re.ASCII)


def rows(
    records: Callable[[str], list[dict[str, Any]]],
    name: str,
    only: Mapping[str, str] = {},
    rows_max: int | None = None,
) -> list[dict[str, Any]]:
    """Return a report's rows, in the order of their values, whatever the database's collation.

    ``records`` runs a statement: ``store.reading.database.Database.records``; ``only`` rows are
    selected by these column values, which may be names of Kubernetes' objects.

    Raises:
        LedgerUnreachableError: the database does not answer.
        NotSupportedError: there are more than ``rows_max`` of them.
        UnknownNameError: there is no such report, or a value is no name.
    """
    sql = f"SELECT * FROM {report(name).name}" + _where(only)  # noqa: S608 - names of ours
    reported = records(sql if rows_max is None else f"{sql} LIMIT {rows_max + 1}")
    if rows_max is not None and len(reported) > rows_max:
        raise NotSupportedError(
            f"The report {name} has more than {rows_max} rows here: ask for less of it, or read it "
            f"with `tidegate report {name}` or SQL."
        )
    return sorted(reported, key=lambda row: [(value is None, value) for value in row.values()])


def _where(only: Mapping[str, str]) -> str:
    """Return what narrows a report down; a value that could be no name is refused."""
    for column, value in only.items():
        assert column.isidentifier(), "a column's name is ours"
        if _NAME.fullmatch(value) is None:
            raise UnknownNameError(f"{value[:80]!r} is the name of no object.")
    condition = " AND ".join(f"{column} = '{value}'" for column, value in only.items())
    return f" WHERE {condition}" if condition else ""


def report(name: str) -> ViewText:
    """Return the report of this name.

    Raises:
        UnknownNameError: there is none; the message lists those there are.
    """
    if name not in TEXTS:
        names = ", ".join(sorted(TEXTS))
        raise UnknownNameError(f"There is no report {name!r}. There are: {names}.")
    return TEXTS[name]


def statement(dialect: str, name: str) -> str:
    """Return the SQL of a report, as this database runs it.

    Raises:
        UnknownNameError: there is no such report.
    """
    return report(name).sql[dialect]
