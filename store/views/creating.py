"""The views of a ledger: made from the reports' texts, and removed.

A view is code, not data: after each migration all are made again, and ``ledger_view`` remembers
which text each was made from.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select, text

from store.tables import ledger_view
from store.views.texts import TEXTS


def drop(conn: Connection) -> None:
    """Remove every view that was made, also those that this version no longer knows."""
    existing = conn.scalars(select(ledger_view.c.name).order_by(ledger_view.c.place.desc()))
    for name in existing.all():
        conn.execute(text(f"DROP VIEW IF EXISTS {name}"))
    conn.execute(delete(ledger_view))


def create(conn: Connection) -> None:
    """Make every view."""
    for place, name in enumerate(TEXTS):
        query = TEXTS[name].sql[conn.dialect.name]
        as_it_is = {"no_parameters": True}
        conn.exec_driver_sql(f"CREATE VIEW {name} AS {query}", execution_options=as_it_is)
        row = {"name": name, "place": place, "digest": TEXTS[name].digest(conn.dialect.name)}
        conn.execute(insert(ledger_view), row)
