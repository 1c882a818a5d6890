"""How statements that only read are run, on a connection of any owner.

Readers speak to the driver itself: to import SQLAlchemy takes longer than most of what they ask.
The writer lends its own connection in the same form (``store.access.engine.selecting``), so each
statement stands once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

_NO_TABLE = "no such table"  # SQLite's words
_UNDEFINED_TABLE, _DENIED = "42P01", "42501"  # PostgreSQL's codes


class Select(Protocol):
    """Runs one statement and returns its rows."""

    def __call__(self, sql: str, /, **values: object) -> list[Any]:
        """Return the rows, each a tuple; ``:name`` in the statement stands for a value."""
        ...


Lend: TypeAlias = Callable[[], AbstractContextManager[Select]]
"""Lends a connection for some statements; what they read may be of several moments.

Raises:
    LedgerUnreachableError: the database does not answer, or is not a ledger of ours.
"""


def unreachable_message(label: str, cause: BaseException | None) -> str:
    """Say why a database did not answer: ``label`` is its URL for people."""
    text = " ".join(str(cause).split())
    if _NO_TABLE in text or getattr(cause, "sqlstate", None) == _UNDEFINED_TABLE:
        return (
            f"The ledger at {label} lacks its tables: `tidegate ledger migrate` makes them. "
            f"({text})"
        )
    if getattr(cause, "sqlstate", None) == _DENIED:
        return (
            f"The ledger at {label} refuses this role: {text}. A role that sees single namespaces"
            " may only print reports of their rows (`tidegate report`); `python -m migrations`"
            " lets a role read everything (TIDEGATE_GRANT_READING_TO)."
        )
    return f"The ledger at {label} does not answer: {text}"
