"""Old events in files: every answer stays the same, and the chain runs through."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import astuple

from store.access.engine import open_engine
from store.archive.archive_ranges import FOLDER_VARIABLE
from store.ledger import SqlLedger
from tests.cli.conftest import Tidegate
from tests.cli.test_reading import READINGS
from tests.parts.sample import ENTRIES
from tidegate.contracts.chain import seal
from tidegate.contracts.entry import Entry, Positions
from tidegate.contracts.facts import TimePassed
from tidegate.replay.rebuild import rebuild

ANSWERS = (
    *READINGS,
    ["show", "usage", "--as-of", "20"],
    ["show", "usage", "--as-of", "2026-03-02T08:31"],
)


@pytest.fixture
def shorter(tidegate: Tidegate, sample: Path, tmp_path: Path) -> Path:
    """The sample, whose first events are in two files."""
    ledger = tmp_path / "ledger.db"
    shutil.copy(sample, ledger)
    for until, name in (("30", "one.jsonl"), ("2026-03-02T09:00", "two.jsonl.gz")):
        arguments = ("--until", until, "--ledger", str(ledger))
        result = tidegate("ledger", "archive", str(tmp_path / name), *arguments)
        assert result.exit_code == 0, result.output
    return ledger


def put_back(ledger: Path, entries: list[Entry]) -> None:
    """Leave rows behind that an archive holds too, as a crash between two deletions does."""
    columns = Entry.__struct_fields__
    marks = ", ".join("?" for _ in columns)
    with closing(sqlite3.connect(ledger)) as conn, conn:
        statement = f"INSERT OR IGNORE INTO ledger_event VALUES ({marks})"  # noqa: S608 - ours
        conn.executemany(statement, [astuple(entry) for entry in entries])


def rows(ledger: Path, statement: str) -> list[tuple[int, ...]]:
    with closing(sqlite3.connect(ledger)) as conn:
        return conn.execute(statement).fetchall()


def test_the_database_lost_what_the_files_hold(shorter: Path) -> None:
    [(first, count)] = rows(shorter, "SELECT MIN(seq), COUNT(*) FROM ledger_event")
    kept = rows(shorter, "SELECT first_seq, seq FROM ledger_archive ORDER BY seq")
    [(_, number), (after, two)] = kept
    assert (after, first) == (number + 1, two + 1)
    assert count == 79 - two > 0
    assert len((shorter.parent / "one.jsonl").read_text().splitlines()) == number


@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_every_answer_stays_the_same(
    tidegate: Tidegate, shorter: Path, arguments: list[str]
) -> None:
    there = tidegate(*arguments, "--ledger", str(shorter))
    assert (there.exit_code, there.stderr) == (0, "")
    assert there.stdout == tidegate(*arguments).stdout != ""


def test_the_chain_runs_through_files_and_database(tidegate: Tidegate, shorter: Path) -> None:
    head = tidegate("ledger", "verify", "-o", "name").stdout
    assert tidegate("ledger", "verify", "-o", "name", "--ledger", str(shorter)).stdout == head


def test_the_writer_goes_on_and_starts_again(shorter: Path) -> None:
    engine = open_engine(str(shorter))
    ledger = SqlLedger(engine)
    state, head = rebuild(ledger.read())
    assert head.seq == state.seq == 79
    term = ledger.begin_term("again", 0)
    assert term is not None
    more = seal(head, term.epoch, "local", [TimePassed(at_us=head.at_us)])
    ledger.append(term.epoch, 79, more, Positions())
    assert rebuild(ledger.read())[1] == more[0]
    engine.dispose()


@pytest.mark.parametrize(("after", "until"), [(0, 10), (10, 35), (29, 31), (3, 79), (60, None)])
def test_a_part_is_read_across_the_seams(shorter: Path, after: int, until: int | None) -> None:
    engine = open_engine(str(shorter))
    assert list(SqlLedger(engine).read(after, until)) == ENTRIES[after:until]
    engine.dispose()


def test_reports_are_made_again_from_the_files(tidegate: Tidegate, shorter: Path) -> None:
    with closing(sqlite3.connect(shorter)) as conn, conn:
        conn.execute("DELETE FROM report_holding")
    assert tidegate("reports", "rebuild", "--ledger", str(shorter)).exit_code == 0
    asked = ("report", "holdings", "-o", "json")
    assert tidegate(*asked, "--ledger", str(shorter)).stdout == tidegate(*asked).stdout != ""


def test_a_file_that_is_gone_is_named_and_may_be_elsewhere(
    tidegate: Tidegate, shorter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = shorter.parent / "cold"
    elsewhere.mkdir()
    for name in ("one.jsonl", "two.jsonl.gz"):
        (shorter.parent / name).rename(elsewhere / name)
    gone = tidegate("ledger", "verify", "--ledger", str(shorter))
    assert (gone.exit_code, "one.jsonl" in gone.stderr) == (3, True)
    assert (
        tidegate("show", "usage", "--ledger", str(shorter)).exit_code == 0
    )  # the reports are here
    monkeypatch.setenv(FOLDER_VARIABLE, str(elsewhere))
    assert tidegate("ledger", "verify", "--ledger", str(shorter)).exit_code == 0


def test_an_altered_file_does_not_verify(tidegate: Tidegate, shorter: Path) -> None:
    file = shorter.parent / "two.jsonl.gz"
    text = gzip.decompress(file.read_bytes()).decode()
    file.write_bytes(gzip.compress(text.replace("WorkloadAdmitted", "WorkloadEvicted_").encode()))
    result = tidegate("ledger", "verify", "--no-redecide", "--ledger", str(shorter))
    assert (result.exit_code, "at seq" in result.stderr) == (1, True)


def test_a_ledger_that_does_not_hold_is_not_archived(
    tidegate: Tidegate, sample: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.db"
    shutil.copy(sample, ledger)
    with closing(sqlite3.connect(ledger)) as conn, conn:
        conn.execute("UPDATE ledger_event SET at_us = at_us + 1 WHERE seq = 20")
    arguments = ("--until", "30", "--ledger", str(ledger))
    result = tidegate("ledger", "archive", str(tmp_path / "x.jsonl"), *arguments)
    assert (result.exit_code, "seq 20" in result.stderr) == (1, True)
    assert rows(ledger, "SELECT COUNT(*) FROM ledger_event") == [(79,)]


def test_the_newest_turn_always_stays(tidegate: Tidegate, sample: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    shutil.copy(sample, ledger)
    arguments = ("--until", "79", "--ledger", str(ledger))
    assert tidegate("ledger", "archive", str(tmp_path / "a.jsonl"), *arguments).exit_code == 0
    [(turns_left,)] = rows(ledger, "SELECT COUNT(DISTINCT turn) FROM ledger_event")
    assert turns_left == 1
    again = tidegate("ledger", "archive", str(tmp_path / "b.jsonl"), *arguments)
    assert (again.exit_code, "no whole turn" in again.stderr) == (2, True)


@pytest.mark.parametrize("until", ["80", "0", "2999-01-01", "x"])
def test_more_than_there_is_is_not_archived(
    tidegate: Tidegate, sample: Path, tmp_path: Path, until: str
) -> None:
    file = tmp_path / "a.jsonl"
    arguments = ("--until", until, "--ledger", str(sample))
    result = tidegate("ledger", "archive", str(file), *arguments)
    assert (result.exit_code, f"--until {until}" in result.stderr.replace("'", "")) == (2, True)
    assert not file.exists()


def test_what_is_older_than_an_age_is_archived(
    tidegate: Tidegate, sample: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.db"
    shutil.copy(sample, ledger)
    arguments = ("--until", "1h", "--ledger", str(ledger))
    result = tidegate("ledger", "archive", str(tmp_path / "a.jsonl"), *arguments)
    assert "77 events up to seq 77 were moved" in result.stderr


def test_a_deletion_that_was_interrupted_changes_nothing_for_readers(shorter: Path) -> None:
    engine = open_engine(str(shorter))
    put_back(shorter, ENTRIES[40:79])
    assert list(SqlLedger(engine).read()) == ENTRIES
    engine.dispose()
