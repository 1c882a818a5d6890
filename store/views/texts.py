"""The reports' statements as text, made of their definitions by `make generate`.

Databases are given exactly these, and readers know them without SQLAlchemy, whose next version
might write the same statement otherwise.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec

from store.statements.selecting import Select

FILE = Path(__file__).with_name("view_texts.json")


class ViewText(msgspec.Struct, frozen=True, kw_only=True):
    """One report."""

    name: str
    about: str  # one sentence
    sums: tuple[str, ...] = ()  # the columns that may be added up over rows
    sql: dict[str, str]  # its query by dialect: sqlite, postgresql

    def digest(self, dialect: str) -> str:
        """Return what ``ledger_view`` keeps: SHA-256 of the text the view is made from."""
        return sha256(self.sql[dialect].encode()).hexdigest()


TEXTS = {
    view.name: view for view in msgspec.json.decode(FILE.read_bytes(), type=tuple[ViewText, ...])
}
"""All reports by name, in an order in which each can be made."""


def current(select: Select, dialect: str) -> bool:
    """Return whether the database was given exactly these views."""
    digests = dict(map(tuple, select("SELECT name, digest FROM ledger_view")))
    return digests == {name: text.digest(dialect) for name, text in TEXTS.items()}
