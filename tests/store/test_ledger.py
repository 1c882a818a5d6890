"""The SQL ledger takes what follows its end from the writer that leads, and nothing else."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text

from store.access.engine import selecting
from store.ledger import SqlLedger
from store.reading.about import clock_us, last_received_us
from tests.store.histories import AT, LEASE_US, ticks
from tidegate.contracts.entry import Entry, Position, Positions, Term
from tidegate.errors import FencedError, SequenceConflictError

ROWS = ticks(5)
CLOCK_US = 1_000
"""SQLite's clock counts in milliseconds."""
NOWHERE = Position(0, 0)


@pytest.fixture
def begun(ledger: SqlLedger) -> SqlLedger:
    """A ledger of two rows whose writer leads its first term."""
    assert ledger.begin_term("a", LEASE_US) == Term(epoch=1, observations=NOWHERE, events=NOWHERE)
    ledger.append(1, 0, ROWS[:2], AT)
    return ledger


def test_what_is_appended_is_read_back_in_every_column(begun: SqlLedger) -> None:
    begun.append(1, 2, ROWS[2:], Positions())
    assert list(begun.read()) == ROWS
    assert all(isinstance(entry.hash, bytes) for entry in begun.read())


def test_any_text_and_the_largest_numbers_are_read_back(begun: SqlLedger) -> None:
    payload = '{"type":"X/1","at_us":1,"é":"\\u0000 \U0001f30a %s :colon"}'
    wide = Entry(0, 3, 2**62, 2**62, 2**62, "eu-1", "X", "a.b%2E", payload, bytes(range(32)))
    begun.append(1, 2, [wide], Positions())
    assert list(begun.read(after=2)) == [wide]


@pytest.mark.parametrize(("after", "until"), [(0, 3), (3, None), (1, 1), (5, None), (0, 9)])
def test_a_part_is_read(begun: SqlLedger, after: int, until: int | None) -> None:
    begun.append(1, 2, ROWS[2:], Positions())
    assert list(begun.read(after, until)) == ROWS[after:until]


def test_a_long_ledger_is_read_across_pages(begun: SqlLedger) -> None:
    rows = ticks(2_500)
    begun.append(1, 2, rows[2:], Positions())
    assert list(begun.read()) == rows


def test_a_reader_halfway_does_not_hinder_the_writer(begun: SqlLedger) -> None:
    reader = begun.read()
    assert next(reader) == ROWS[0]
    begun.append(1, 2, ROWS[2:], Positions())
    assert next(reader) == ROWS[1]


def test_the_newest_entry_is_reported(ledger: SqlLedger) -> None:
    assert ledger.newest() is None
    ledger.begin_term("a", LEASE_US)
    ledger.append(1, 0, ROWS, AT)
    assert ledger.newest() == ROWS[-1]


@pytest.mark.parametrize(("at_us", "seq"), [(-1, 0), (0, 1), (2, 3), (3, 4), (99, 5)])
def test_the_last_entry_at_a_time_is_found(begun: SqlLedger, at_us: int, seq: int) -> None:
    begun.append(1, 2, ROWS[2:], Positions())
    assert begun.seq_at(at_us) == seq


def test_positions_move_without_rows_and_one_without_the_other(begun: SqlLedger) -> None:
    begun.append(1, 2, [], Positions(observations=Position(9, 1)))
    moved = begun.begin_term("a", LEASE_US)
    assert moved == Term(epoch=2, observations=Position(9, 1), events=Position(8, 0))


@pytest.mark.parametrize("after", [0, 1, 3], ids=["start", "behind", "ahead"])
def test_a_writer_at_the_wrong_place_writes_nothing(begun: SqlLedger, after: int) -> None:
    elsewhere = Positions(observations=Position(9, 9))
    with pytest.raises(SequenceConflictError) as caught:
        begun.append(1, after, ROWS[after:], elsewhere)
    assert (caught.value.expected, caught.value.actual) == (after, 2)
    assert list(begun.read()) == ROWS[:2]
    assert begun.begin_term("a", LEASE_US) == Term(
        epoch=2, observations=Position(7, 5), events=Position(8, 0)
    )


def test_a_writer_of_an_older_term_writes_nothing(begun: SqlLedger) -> None:
    begun.begin_term("a", LEASE_US)
    with pytest.raises(FencedError, match="Expected term 1, found term 2"):
        begun.append(1, 2, ROWS[2:], Positions(observations=Position(9, 9)))
    assert list(begun.read()) == ROWS[:2]
    led = begun.begin_term("a", LEASE_US)
    assert led is not None
    assert led.observations == Position(7, 5)


def test_of_two_rows_with_one_key_none_is_written(begun: SqlLedger) -> None:
    with pytest.raises(SequenceConflictError):
        begun.append(1, 2, [ROWS[2], ROWS[2]], Positions())
    assert list(begun.read()) == ROWS[:2]


def test_a_partition_has_its_own_rows_term_and_position(begun: SqlLedger, engine: Engine) -> None:
    other = SqlLedger(engine, partition=1)
    assert other.begin_term("b", LEASE_US) == Term(epoch=1, observations=NOWHERE, events=NOWHERE)
    assert list(other.read()) == []
    begun.append(1, 2, ROWS[2:], Positions())
    assert list(other.read()) == []


def test_a_failure_in_a_report_takes_the_rows_back(begun: SqlLedger, engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE ledger_position SET stream = 'X' WHERE stream = 'OBSERVATIONS'"))
    with pytest.raises(AssertionError):
        begun.append(1, 2, ROWS[2:], AT)
    assert list(begun.read()) == ROWS[:2]


def test_each_member_clusters_position_moves_by_itself(begun: SqlLedger) -> None:
    begun.append(1, 2, [], Positions(members={"east": Position(4, 1), "west": Position(5, 2)}))
    begun.append(1, 2, ROWS[2:], Positions(members={"east": Position(4, 9)}))
    led = begun.begin_term("a", LEASE_US)
    assert led is not None
    assert led.members == {"east": Position(4, 9), "west": Position(5, 2)}
    assert (led.observations, led.events) == (Position(7, 5), Position(8, 0))


def test_when_a_member_was_heard_of_is_kept_by_the_database_s_clock(
    begun: SqlLedger, engine: Engine
) -> None:
    with selecting(engine) as select:
        began_us = clock_us(select, engine.dialect.name)
    for seq in (1, 9):
        begun.append(1, 2, [], Positions(members={"east": Position(4, seq)}))
        with selecting(engine) as select:
            [(name, at_us)] = last_received_us(select).items()
            now_us = clock_us(select, engine.dialect.name)
        assert name == "east"
        assert began_us - CLOCK_US <= at_us <= now_us + CLOCK_US
        began_us = at_us
