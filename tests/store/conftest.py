"""Databases for the store's tests: one suite runs on each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from tests.parts.postgresql import Server, postgresql

__all__ = ["postgresql"]
DATABASES = ("memory", "file", pytest.param("postgresql", marks=pytest.mark.real))


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database."""
    match request.param:
        case "memory":
            yield "sqlite://"
        case "file":
            yield f"sqlite:///{tmp_path}/ledger.db"
        case _:
            server: Server = request.getfixturevalue("postgresql")
            made = server.new_database()
            yield made
            server.drop(made)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """A migrated ledger's engine."""
    engine = open_engine(url)
    migrate.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def ledger(engine: Engine) -> SqlLedger:
    """An empty ledger."""
    return SqlLedger(engine)
