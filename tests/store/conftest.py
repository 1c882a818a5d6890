"""Databases for the store's tests: one suite runs on each of them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import Engine

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from tests.parts.newer import newer
from tests.parts.postgresql import Server

__all__ = ["newer"]
KEPT = ("file", pytest.param("postgresql", marks=pytest.mark.real))
"""What is only read there is answered in memory as from a file: it is the same engine."""
DATABASES = ("memory", *KEPT)
Fresh: TypeAlias = Callable[[], AbstractContextManager[Engine]]


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database; a test with ``engine`` finds it migrated on PostgreSQL."""
    match request.param:
        case "memory":
            yield "sqlite://"
        case "file":
            yield f"sqlite:///{tmp_path}/ledger.db"
        case _:
            server: Server = request.getfixturevalue("postgresql")
            is_migrated = "engine" in request.fixturenames
            made = server.new_database(
                request.getfixturevalue("migrated_database") if is_migrated else ""
            )
            yield made
            server.drop(made)


@pytest.fixture
def engine(url: str, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A migrated ledger's engine."""
    with migrated(url, request) as engine:
        yield engine


@pytest.fixture
def ledger(engine: Engine) -> SqlLedger:
    """An empty ledger."""
    return SqlLedger(engine)


@pytest.fixture(scope="module", params=DATABASES)
def fresh_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """What lends engines of empty ledgers on one database, for what a module's tests share."""
    return _lender(request, tmp_path_factory)


@pytest.fixture(scope="module", params=KEPT)
def kept_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """The same, for tests that only read what their module wrote."""
    return _lender(request, tmp_path_factory)


def _lender(request: pytest.FixtureRequest, folders: pytest.TempPathFactory) -> Fresh:
    @contextmanager
    def lend() -> Generator[Engine]:
        made = f"sqlite:///{folders.mktemp('shared')}/ledger.db"
        if request.param == "postgresql":
            server: Server = request.getfixturevalue("postgresql")
            made = server.new_database(request.getfixturevalue("migrated_database"))
        with migrated("sqlite://" if request.param == "memory" else made, request) as engine:
            yield engine

    return lend


@pytest.fixture(scope="module")
def shared_engine(fresh_engine: Fresh) -> Iterator[Engine]:
    """A migrated ledger's engine for a module whose tests write nothing of their own."""
    with fresh_engine() as engine:
        yield engine


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite ledger as the migrations make it: a copy costs a hundredth of them."""
    path = tmp_path_factory.mktemp("migrated") / "ledger.db"
    migrate.upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_database(postgresql: Server) -> str:
    """A PostgreSQL ledger as the migrations make it, for the same reason."""
    made = postgresql.new_database()
    migrate.upgrade(made)
    return made


@contextmanager
def migrated(url: str, request: pytest.FixtureRequest) -> Generator[Engine]:
    """Lend the engine of a ledger with its tables and views; PostgreSQL made it with them."""
    engine = open_engine(url)
    if not url.startswith("postgresql"):
        _copy(request.getfixturevalue("migrated_file"), url.removeprefix("sqlite:///"), engine)
    yield engine
    engine.dispose()


def _copy(source: Path, path: str, engine: Engine) -> None:
    if path != "sqlite://":
        shutil.copy(source, path)
        return
    with closing(sqlite3.connect(source)) as kept, engine.connect() as conn:
        there = conn.connection.driver_connection
        assert isinstance(there, sqlite3.Connection)
        kept.backup(there)
