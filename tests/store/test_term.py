"""One writer at a time: a lease keeps others waiting, and the epoch fences out a late writer."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from sqlalchemy import Engine

from store.ledger import SqlLedger
from tests.parts.postgresql import wait_until
from tests.store.conftest import DATABASES
from tests.store.histories import AT, LEASE_US, ticks
from tests.store.racing import write_all
from tidegate.contracts.entry import Entry, Positions
from tidegate.errors import FencedError, SequenceConflictError

HOUR_US = 3_600_000_000


def epoch_of(ledger: SqlLedger, holder: str, lease_us: int = HOUR_US) -> int | None:
    term = ledger.begin_term(holder, lease_us)
    return None if term is None else term.epoch


def test_no_replica_leads_while_anothers_lease_runs(ledger: SqlLedger) -> None:
    assert epoch_of(ledger, "a") == 1
    assert epoch_of(ledger, "b") is None
    assert epoch_of(ledger, "a") == 2


def test_a_lease_that_is_given_up_is_free_at_once(ledger: SqlLedger) -> None:
    epoch_of(ledger, "a")
    ledger.renew_term(1, 0)
    assert epoch_of(ledger, "b") == 2


def test_a_lease_ends_by_the_databases_clock(ledger: SqlLedger) -> None:
    epoch_of(ledger, "a", lease_us=200_000)
    assert epoch_of(ledger, "b") is None
    wait_until(lambda: epoch_of(ledger, "b") == 2, "the lease never ended")


def test_a_renewed_lease_runs_on(engine: Engine) -> None:
    now_us = 1_000
    ledger = SqlLedger(engine, clock_us=lambda: now_us)
    epoch_of(ledger, "a", lease_us=10)
    now_us += 9
    ledger.renew_term(1, 10)
    now_us += 9
    assert epoch_of(ledger, "b") is None
    now_us += 1
    assert epoch_of(ledger, "b") == 2


def test_a_lease_of_a_clock_that_was_ahead_keeps_no_replica_waiting(engine: Engine) -> None:
    now_us = HOUR_US
    ledger = SqlLedger(engine, clock_us=lambda: now_us)
    epoch_of(ledger, "a", LEASE_US)
    now_us = 0
    assert epoch_of(ledger, "b", LEASE_US) == 2


def test_an_older_term_cannot_be_renewed(ledger: SqlLedger) -> None:
    epoch_of(ledger, "a")
    epoch_of(ledger, "a")
    with pytest.raises(FencedError):
        ledger.renew_term(1, LEASE_US)


def test_of_many_that_want_to_lead_one_does(ledger: SqlLedger) -> None:
    with ThreadPoolExecutor(8) as pool:
        terms = list(pool.map(lambda name: epoch_of(ledger, name), "abcdefgh"))
    assert sorted(filter(None, terms)) == [1]


def test_of_racing_appends_one_is_written(ledger: SqlLedger) -> None:
    epoch_of(ledger, "a")
    rows = ticks(20)

    def race(entry: Entry) -> bool:
        try:
            ledger.append(1, entry.seq - 1, [entry], Positions())
        except SequenceConflictError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        for row in rows:
            assert sum(pool.map(race, 4 * [row])) == 1
    assert list(ledger.read()) == rows


def test_two_terms_that_write_at_once_never_both_write(ledger: SqlLedger) -> None:
    rows = ticks(40)
    epoch_of(ledger, "a")
    ledger.append(1, 0, rows[:1], AT)

    def write(epoch: int) -> int:
        written = 0
        for row in rows[1:]:
            try:
                ledger.append(epoch, row.seq - 1, [row], Positions())
            except (FencedError, SequenceConflictError):
                continue
            written += 1
        return written

    with ThreadPoolExecutor(2) as pool:
        old = pool.submit(write, 1)
        wait_until(lambda: (newest := ledger.newest()) is not None and newest.seq > 3, "stuck")
        new = epoch_of(ledger, "a")
        assert new == 2
        assert old.result() + pool.submit(write, 2).result() == len(rows) - 1
    assert list(ledger.read()) == rows


@pytest.mark.parametrize("url", DATABASES[1:], indirect=True)  # memory has one process
def test_processes_that_all_want_to_write_write_one_history(url: str, ledger: SqlLedger) -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        written = sum(pool.map(write_all, 3 * [url], "abc", 3 * [30]))
    entries = list(ledger.read())
    assert entries == ticks(30)[: len(entries)]
    assert written == len(entries) == 30
