"""Ledgers in SQLite with their tables and views: migrated once in a process, and copied then."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from sqlalchemy import Engine

from store.access.engine import open_engine
from store.schema.migrate import upgrade


def migrate(engine: Engine) -> None:
    """Give a new SQLite database what the migrations make; a copy costs a hundredth of them."""
    copy_database(_empty(), engine)


def copy_database(before: Engine, after: Engine) -> None:
    """Copy one SQLite database into another."""
    source, target = before.raw_connection(), after.raw_connection()
    try:
        _sqlite(source).backup(_sqlite(target))
    finally:
        source.close()
        target.close()


@cache
def _empty() -> Engine:
    engine = open_engine("sqlite://")
    upgrade(engine)
    return engine


def _sqlite(connection: Any) -> Any:  # noqa: ANN401 - sqlite3's own
    return cast("Any", connection.driver_connection)
