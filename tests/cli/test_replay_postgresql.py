"""What replays answer is the same on PostgreSQL, and asking changes nothing there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from store import migrate
from store.engine import open_engine
from store.ledger import SqlLedger
from tests.cli.conftest import Tidegate
from tests.parts.postgresql import Server, postgresql
from tidegate.cli.sample import turns
from tidegate.contracts.entry import Positions

__all__ = ["postgresql"]
CHANGE = ("--set", "clusterqueue/team-b.cpu=12", "--set", "clusterqueue/team-b.memory=24Gi")
READINGS = (
    ("replay", "--verify", "-o", "name"),
    ("workloads", "--all", "--as-of", "2026-03-02T08:50:00Z"),
    ("why", "job/sweep"),
    ("why-not", "job/sweep", "--as-of", "57"),
    ("what-if", *CHANGE),
    ("submit", "--dry-run", "tests/cli/given/job.yaml"),
)


@pytest.fixture(scope="module")
def remote(postgresql: Server) -> Iterator[str]:
    """The sample's ledger on PostgreSQL."""
    url = postgresql.new_database()
    engine = open_engine(url)
    migrate.upgrade(engine)
    ledger = SqlLedger(engine, clock_us=lambda: 0)
    ledger.lead("sample", 0)
    for entries in turns():
        ledger.append(1, entries[0].seq - 1, entries, Positions())
    engine.dispose()
    yield url
    postgresql.drop(url)


@pytest.mark.real
@pytest.mark.parametrize("arguments", READINGS, ids=" ".join)
def test_on_postgresql_the_answers_are_the_same(
    tidegate: Tidegate, remote: str, arguments: tuple[str, ...]
) -> None:
    there = tidegate(*arguments, "--ledger", remote)
    assert there.stdout == tidegate(*arguments).stdout != ""
    assert there.exit_code == 0
