"""A copy made during writes is a ledger as it was at one moment, with its reports."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.reading.copying import copy_ledger
from store.schema import migrate
from tests.parts.postgresql import wait_until
from tests.store.conftest import DATABASES
from tests.store.histories import LEASE_US
from tests.store.test_reports import history, tables
from tidegate.contracts.entry import Positions
from tidegate.errors import LedgerUnreachableError
from tidegate.replay.verify import audit_ledger


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Engine]:
    """An empty file."""
    engine = open_engine(str(tmp_path / "copy.db"))
    yield engine
    engine.dispose()


@pytest.mark.parametrize("url", DATABASES[1:], indirect=True)  # memory has one connection
def test_what_is_written_meanwhile_is_in_the_copy_whole_or_not_at_all(
    engine: Engine, target: Engine
) -> None:
    turns, _ = history(0)
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)

    def write() -> None:
        for entries in turns:
            ledger.append(1, entries[0].seq - 1, entries, Positions())

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        wait_until(lambda: (head := ledger.newest()) is not None and head.seq > 30, "stuck")
        count = copy_ledger(engine, target)
        writing.result()
    entries = list(SqlLedger(target).read())
    assert entries == list(ledger.read(until=count))
    assert audit_ledger(entries).events == count
    assert entries[-1].seq in {entries[-1].seq for entries in turns}
    kept = tables(target)
    migrate.rebuild_reports(target)
    assert tables(target) == kept


def test_a_copy_goes_only_into_an_empty_database(engine: Engine, target: Engine) -> None:
    turns, _ = history(0)
    SqlLedger(engine).begin_term("a", LEASE_US)
    SqlLedger(engine).append(1, 0, turns[0], Positions())
    assert copy_ledger(engine, target) == len(turns[0])
    with pytest.raises(LedgerUnreachableError, match="holds a ledger already"):
        copy_ledger(engine, target)
