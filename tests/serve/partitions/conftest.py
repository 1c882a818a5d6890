"""The moved tree's ledger in SQLite and in PostgreSQL, and a server of each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pytest
from starlette.testclient import TestClient

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.parts.postgresql import Server
from tests.serve.conftest import running
from tests.serve.partitions.world import write
from tidegate.contracts.entry import Entry
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.rights import Rights

NO_AUTH = Authenticator(None, None, RateLimiter(10_000)), Rights(None)


@pytest.fixture(
    scope="session",
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.real)],
)
def moved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Lend the URL of the ledger after the move; no test writes to it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('moved') / 'ledger.db'}"
        write(url)
        yield url
        return
    server: Server = request.getfixturevalue("postgresql")
    url = server.new_database()
    write(url)
    yield url
    server.drop(url)


@pytest.fixture(scope="session")
def both(moved: str) -> Iterator[TestClient]:
    """Lend a client of a server of all partitions."""
    with running(moved, *NO_AUTH) as client:
        yield client("")


@pytest.fixture(scope="session")
def turns(tmp_path_factory: pytest.TempPathFactory) -> list[list[Entry]]:
    """The turns of both partitions, in the order of time."""
    url = f"sqlite:///{tmp_path_factory.mktemp('turns') / 'ledger.db'}"
    write(url)
    engine = open_engine(url)
    try:
        ledgers = (SqlLedger(engine, number).read() for number in range(2))
        made = [
            list(turn)
            for entries in ledgers
            for _, turn in groupby(entries, key=lambda entry: entry.turn)
        ]
    finally:
        engine.dispose()
    return sorted(made, key=lambda turn: (turn[0].at_us, turn[0].partition, turn[0].seq))
