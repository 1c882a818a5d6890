"""PostgreSQL fails at the worst moment: nothing is lost that was answered, and nothing twice.

The writer here does what the scheduler does after a failure: it takes a term, reads what the ledger
has, and goes on behind it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import text

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from tests.parts.cutting import Cut, Cutter, socket_folder
from tests.parts.postgresql import Server, wait_until
from tests.parts.standby import Pair, pair
from tests.store.histories import AT, LEASE_US, ticks
from tidegate.contracts.entry import Entry
from tidegate.errors import CommitUnknownError, LedgerUnreachableError

__all__ = ["pair"]
pytestmark = pytest.mark.real
ROWS = ticks(12)
PATIENCE_S = 60.0


class Writer:
    """Appends rows one at a time, and notes what it was told."""

    def __init__(self, ledger: SqlLedger) -> None:
        self.ledger = ledger
        self.epochs = list[int]()
        self.unknown = 0
        self.answered = 0  # the seq of the last row whose commit was answered

    def write(self, rows: Sequence[Entry]) -> None:
        """Have all rows in the ledger, whatever it takes; the rows are the whole history."""
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self._go_on(rows)
            except CommitUnknownError:
                self.unknown += 1
            except LedgerUnreachableError:
                assert time.monotonic() < deadline_s, "it never comes back"
                time.sleep(0.05)

    def _go_on(self, rows: Sequence[Entry]) -> None:
        term = self.ledger.begin_term("a", LEASE_US)
        assert term is not None, "no other process leads"
        self.epochs.append(term.epoch)
        entries = list(self.ledger.read())
        assert entries == list(rows[: len(entries)]), "the ledger is a beginning of the history"
        assert len(entries) >= self.answered, "what was answered is there"
        for row in rows[len(entries) :]:
            self.ledger.append(term.epoch, row.seq - 1, [row], AT)
            self.answered = row.seq


HOWS: tuple[Cut, ...] = ("before", "behind", "late")
CUTS = [
    pytest.param(how, after, marks=[] if HOWS[after] == how else [pytest.mark.slow])
    for how in HOWS
    for after in range(len(HOWS))
]
"""Each way at another moment; in the long tests each at every one."""


@pytest.fixture
def cutter(postgresql: Server, tmp_path: Path) -> Iterator[tuple[Cutter, str]]:
    """Lend a cutter before an empty database, and the URL that leads through it."""
    url = postgresql.new_database()
    folder = socket_folder(url)
    with Cutter(folder, tmp_path) as between:
        yield between, url.replace(str(folder), str(tmp_path))
    postgresql.drop(url)


@pytest.mark.parametrize(("how", "after"), CUTS)
def test_a_writer_finds_out_what_became_of_a_commit_by_reading(
    cutter: tuple[Cutter, str], how: Cut, after: int
) -> None:
    between, url = cutter
    engine = open_engine(url)
    migrate.upgrade(engine)
    writer = Writer(SqlLedger(engine))
    writer.write(ROWS[:after])
    between.planned.append(how)
    writer.write(ROWS)
    assert list(writer.ledger.read()) == ROWS
    engine.dispose()
    wait_until(lambda: between.done == [how], "the commit was cut as planned")
    assert writer.unknown == 1


def test_a_writer_survives_one_cut_after_another(cutter: tuple[Cutter, str]) -> None:
    between, url = cutter
    engine = open_engine(url)
    migrate.upgrade(engine)
    cuts: list[Cut] = ["behind", "late", "before", "behind", "before", "late"]
    between.planned.extend(cuts)
    writer = Writer(SqlLedger(engine))
    writer.write(ROWS)
    assert list(writer.ledger.read()) == ROWS
    wait_until(lambda: sorted(between.done) == sorted(cuts), "each commit was cut as planned")
    assert writer.epochs == sorted(set(writer.epochs)), "each term is a new one"
    engine.dispose()


@pytest.mark.slow
def test_a_writer_goes_on_at_the_standby_that_was_promoted(pair: Pair) -> None:
    engine = open_engine(pair.url)
    migrate.upgrade(engine)
    writer = Writer(SqlLedger(engine))
    writer.write(ROWS[:6])
    pair.fail_over()
    writer.write(ROWS)
    assert list(writer.ledger.read()) == ROWS
    assert writer.epochs == [1, 2]
    engine.dispose()


def test_a_writer_never_takes_a_standby_and_a_reader_may(pair: Pair) -> None:
    swapped = pair.url.partition("?")[0] + "?host=" + ",".join(pair.folders[::-1])
    writer, reader = open_engine(swapped), open_engine(swapped, read_only=True)
    for engine, standby in ((writer, False), (reader, True)):
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT pg_is_in_recovery()")) is standby
        engine.dispose()
