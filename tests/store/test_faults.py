"""A full disk and a clock that runs backwards: nothing is lost, nothing doubled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.reading.as_of import reports_as_of
from store.schema import migrate
from store.views.catalog import VIEWS
from tests.parts.reports import rows
from tests.store.filling import write_until_full
from tests.store.histories import LEASE_US, ticks
from tests.store.test_reports import history
from tidegate.contracts.entry import Entry, Positions
from tidegate.errors import FencedError, LedgerUnreachableError
from tidegate.replay.verify import audit_ledger

PAGE_BYTES = 4_096


def write(ledger: SqlLedger, turns: list[list[Entry]]) -> None:
    for entries in turns:
        ledger.append(1, entries[0].seq - 1, entries, Positions())


def go_on(engine: Engine, turns: list[list[Entry]]) -> None:
    """Write what is missing as a new term does, and hold the whole to the history."""
    ledger = SqlLedger(engine)
    term = ledger.begin_term("a", LEASE_US)
    assert term is not None
    head = ledger.newest()
    end = 0 if head is None else head.seq
    for entries in turns:
        if entries[0].seq > end:
            ledger.append(term.epoch, entries[0].seq - 1, entries, Positions())
    items = list(ledger.read())
    assert items == [entry for entries in turns for entry in entries]
    assert audit_ledger(items).head_seq == len(items)
    with reports_as_of(items) as then:
        assert {name: rows(engine, name) for name in VIEWS} == {
            name: rows(then, name) for name in VIEWS
        }


@pytest.mark.parametrize("pages_more", [1, 9, 40])
def test_a_full_disk_takes_a_turn_back_whole(tmp_path: Path, pages_more: int) -> None:
    turns, _ = history(0)
    url = str(tmp_path / "ledger.db")
    migrate.upgrade(url)
    pages = (tmp_path / "ledger.db").stat().st_size // PAGE_BYTES + pages_more
    engine = open_engine(url)
    event.listen(engine, "connect", lambda made, _: made.execute(f"PRAGMA max_page_count={pages}"))
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    with pytest.raises(LedgerUnreachableError, match="database or disk is full"):
        write(ledger, turns)
    written = len(list(ledger.read()))
    assert written in {0, *(entries[-1].seq for entries in turns[:-1])}
    engine.dispose()
    roomier = open_engine(url)
    go_on(roomier, turns)
    roomier.dispose()


@pytest.mark.parametrize("more", [20_000, 150_000])
def test_a_file_that_cannot_grow_loses_nothing_that_was_confirmed(
    tmp_path: Path, more: int
) -> None:
    turns, _ = history(1)
    url = str(tmp_path / "ledger.db")
    migrate.upgrade(url)
    bytes_max = (tmp_path / "ledger.db").stat().st_size + more
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        confirmed, error = pool.submit(write_until_full, url, turns, bytes_max).result()
    assert error in {"CommitUnknownError", "LedgerUnreachableError"}
    engine = open_engine(url)
    kept = list(SqlLedger(engine).read())
    ends = [0, *(entries[-1].seq for entries in turns)]
    # An unknown commit may have come to pass.
    assert len(kept) in {ends[confirmed], ends[confirmed + 1]}
    go_on(engine, turns)
    engine.dispose()


def test_a_clock_that_goes_backwards_lets_no_replica_in_beside_the_leader(engine: Engine) -> None:
    now_us = 1_000
    clock: Callable[[], int] = lambda: now_us  # noqa: E731 - it reads a variable of the test
    sql_ledger, two, entries = (
        SqlLedger(engine, clock_us=clock),
        SqlLedger(engine, clock_us=clock),
        ticks(4),
    )
    assert sql_ledger.begin_term("one", 100) is not None
    sql_ledger.append(1, 0, entries[:1], Positions())
    now_us = 500
    assert two.begin_term("two", 100) is None
    sql_ledger.append(1, 1, entries[1:2], Positions())
    sql_ledger.renew_term(1, 100)
    now_us = 601  # past the lease as it was renewed, before it as it first was
    assert two.begin_term("two", 100) is not None
    with pytest.raises(FencedError):
        sql_ledger.append(1, 2, entries[2:3], Positions())
    now_us = 100
    two.append(2, 2, entries[2:], Positions())
    assert list(two.read()) == entries
