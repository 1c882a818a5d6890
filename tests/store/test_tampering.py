"""Any byte of any column of any row that is changed is found, and its place is named."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, insert
from sqlalchemy.exc import IntegrityError

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from store.tables import ledger_event
from tests.parts.drawn import drawn
from tests.store.histories import LEASE_US, ticks
from tests.store.tampering import Change, changes
from tidegate.cli.sample.ledger import sample_turns
from tidegate.contracts import chain
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry, Positions
from tidegate.contracts.facts import TimePassed
from tidegate.errors import ChainError, WitnessError
from tidegate.replay.verify import Witness, audit_ledger


@cache
def sample() -> list[Entry]:
    return [entry for entries in sample_turns() for entry in entries]


ROWS = len(sample())


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The sample on a file, which each example changes and puts back."""
    engine = open_engine(str(tmp_path_factory.mktemp("tampered") / "ledger.db"))
    migrate.upgrade(engine)
    ledger = SqlLedger(engine, reports=False)
    ledger.begin_term("a", LEASE_US)
    ledger.append(1, 0, sample(), Positions())
    yield engine
    engine.dispose()


def put_back(engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(delete(ledger_event))
        columns = Entry.__struct_fields__
        conn.execute(
            insert(ledger_event),
            [{name: getattr(entry, name) for name in columns} for entry in sample()],
        )


@drawn(60, suppress_health_check=[HealthCheck.too_slow])
@given(change=changes(ROWS))
def test_a_changed_byte_is_found_and_located(tampered: Engine, change: Change) -> None:
    try:
        change.make(tampered, sample()[change.seq - 1])
    except IntegrityError:
        return  # the database itself refuses a seq that is taken
    head = Witness(seq=ROWS, hash=sample()[-1].hash)
    try:
        # A row that went to another partition is missing; if it was the last, the witness says so.
        with pytest.raises((ChainError, WitnessError), match=f"seq {change.seq}\\b"):
            audit_ledger(SqlLedger(tampered).read(), witness=head, redecide=False)
    finally:
        put_back(tampered)


@drawn(30)
@given(kept=st.integers(0, ROWS - 1), seen=st.integers(1, ROWS))
def test_a_tail_that_was_cut_off_is_found_by_a_reader_that_saw_more(kept: int, seen: int) -> None:
    witness = Witness(seq=seen, hash=sample()[seen - 1].hash)
    if seen <= kept:
        assert audit_ledger(sample()[:kept], witness=witness, redecide=False).head_seq == kept
        return
    with pytest.raises(WitnessError, match=f"seq {seen}\\b.*end at {kept}\\b"):
        audit_ledger(sample()[:kept], witness=witness, redecide=False)


@drawn(30)
@given(data=st.data())
def test_rows_left_out_or_swapped_are_found_where_it_begins(data: st.DataObject) -> None:
    rows = list(sample())
    first = data.draw(st.integers(0, ROWS - 2))
    second = data.draw(st.integers(first + 1, ROWS - 1))
    if data.draw(st.booleans()):
        rows[first], rows[second] = rows[second], rows[first]
    else:
        del rows[first:second]
    with pytest.raises(ChainError, match=f"seq {first + 1}\\b"):
        audit_ledger(rows, redecide=False)


def test_a_history_sealed_anew_from_the_change_on_is_found_by_a_witness() -> None:
    rows, witness = ticks(9), Witness(seq=9, hash=ticks(9)[-1].hash)
    forged = rows[:4] + seal(rows[3], 1, "local", [TimePassed(at_us=99) for _ in range(5)])
    assert audit_ledger(forged, redecide=False).head_seq == 9
    with pytest.raises(WitnessError, match="at seq 9"):
        audit_ledger(forged, witness=witness, redecide=False)


def endless(count: int) -> Iterator[Entry]:
    head = GENESIS
    for n in range(count):
        [head] = seal(head, 1, "local", [TimePassed(at_us=n)])
        yield head


@pytest.mark.parametrize("redecide", [False, True])
def test_an_audit_takes_the_same_memory_however_long_the_history(*, redecide: bool) -> None:
    def peak_of(count: int) -> int:
        tracemalloc.start()
        audit_ledger(endless(count), redecide=redecide)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    peak_of(10)  # whatever is made once
    short, long = peak_of(200), peak_of(6_000)
    assert long < 1.5 * short + 64_000


def test_reading_a_ledger_of_many_pages_holds_one_of_them(tmp_path: Path) -> None:
    engine = open_engine(str(tmp_path / "long.db"))
    migrate.upgrade(engine)
    ledger = SqlLedger(engine, reports=False)
    ledger.begin_term("a", LEASE_US)
    ledger.append(1, 0, ticks(20_000), Positions())

    def peak_of(until: int) -> int:
        tracemalloc.start()
        assert sum(1 for _ in chain.verify(ledger.read(until=until))) == until
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    peak_of(10)
    assert peak_of(20_000) < 1.5 * peak_of(2_000)
    engine.dispose()
