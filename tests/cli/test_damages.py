"""A copy is restored whole or not at all, and what is damaged or cut off is named."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.cli.conftest import Tidegate
from tests.cli.test_reading import READINGS
from tests.parts.postgresql import Server
from tests.parts.sample import ENTRIES


@pytest.fixture
def export(tidegate: Tidegate, tmp_path: Path) -> Path:
    """The sample as lines, compressed."""
    file = tmp_path / "history.jsonl.gz"
    assert tidegate("ledger", "export", str(file)).exit_code == 0
    return file


def whole(tidegate: Tidegate, restored: str) -> None:
    """Make sure that a ledger is the sample: its answers, its reports, the term that follows."""
    for arguments in (*READINGS, ["ledger", "verify", "-o", "name"], ["report", "holdings"]):
        there = tidegate(*arguments, "--ledger", restored).stdout
        assert there == tidegate(*arguments).stdout != ""
    assert tidegate("reports", "verify", "--ledger", restored).exit_code == 0
    engine = open_engine(restored)
    term = SqlLedger(engine).begin_term("next", 0)
    engine.dispose()
    assert term is not None
    assert term.epoch > ENTRIES[-1].epoch


def test_an_export_becomes_a_file_again(tidegate: Tidegate, export: Path, tmp_path: Path) -> None:
    restored = str(tmp_path / "restored.db")
    done = tidegate("ledger", "backup", restored, "--ledger", str(export))
    assert done.exit_code == 0, done.output
    whole(tidegate, restored)


@pytest.mark.real
def test_an_export_and_a_copy_become_a_database_again(
    tidegate: Tidegate, export: Path, tmp_path: Path, postgresql: Server
) -> None:
    copy = str(tmp_path / "copy.db")
    assert tidegate("ledger", "backup", copy).exit_code == 0
    for source in (str(export), copy):
        restored = postgresql.new_database()
        assert tidegate("ledger", "backup", restored, "--ledger", source).exit_code == 0
        whole(tidegate, restored)
        again = tidegate("ledger", "backup", restored, "--ledger", source)
        assert (again.exit_code, "holds a ledger already" in again.stderr) == (3, True)
        postgresql.drop(restored)


DAMAGES: tuple[tuple[Callable[[bytes], bytes], str], ...] = (
    (lambda data: data[:-200], "is damaged behind line "),
    (lambda data: data[:2_000] + b"\0" * 40 + data[2_040:], "is damaged behind line "),
    (lambda data: b"PK" + data[2:], "is damaged behind line 0: Not a gzipped file"),
    (lambda data: gzip.compress(gzip.decompress(data)[:-9]), "Line 79 of "),
    (
        lambda data: gzip.compress(gzip.decompress(data).replace(b"kim", b"tim")),
        "at seq 9,",
    ),
    (lambda data: gzip.compress(b"".join(lines(data)[30:])), "begins at seq 31"),
    (lambda _: gzip.compress(b""), "holds no event"),
)


@pytest.mark.parametrize(
    ("damage", "text"),
    DAMAGES,
    ids=["cut", "zeros", "no gzip", "line cut", "altered", "a part", "empty"],
)
def test_a_damaged_copy_is_named_and_leaves_nothing_behind(
    tidegate: Tidegate, export: Path, tmp_path: Path, damage: Callable[[bytes], bytes], text: str
) -> None:
    export.write_bytes(damage(export.read_bytes()))
    restored = tmp_path / "restored.db"
    done = tidegate("ledger", "backup", str(restored), "--ledger", str(export))
    assert done.exit_code in {1, 2}
    assert text in done.stderr
    assert not restored.exists()


def lines(data: bytes) -> list[bytes]:
    return gzip.decompress(data).splitlines(keepends=True)


@pytest.fixture
def shorter(tidegate: Tidegate, sample: Path, tmp_path: Path) -> Path:
    """A copy of the sample whose first events are in ``one.jsonl.gz`` beside it."""
    ledger = tmp_path / "shorter.db"
    shutil.copy(sample, ledger)
    arguments = ("--until", "30", "--ledger", str(ledger))
    assert tidegate("ledger", "archive", str(tmp_path / "one.jsonl.gz"), *arguments).exit_code == 0
    return ledger


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "altered"])
def test_an_audit_names_the_archive_that_is_to_blame(
    tidegate: Tidegate, shorter: Path, *, cut: bool
) -> None:
    file = shorter.parent / "one.jsonl.gz"
    data = file.read_bytes()
    altered = gzip.compress(gzip.decompress(data).replace(b"kim", b"tim"))
    file.write_bytes(data[:-100] if cut else altered)
    answer = tidegate("ledger", "verify", "--ledger", str(shorter))
    assert answer.exit_code == 1
    assert f"{file} is not what was archived: it held the events 1 to " in answer.stderr


@pytest.mark.parametrize("kept", [75, 46, 30, 0])
def test_an_audit_says_that_newest_rows_were_cut_off(
    tidegate: Tidegate, shorter: Path, kept: int
) -> None:
    with closing(sqlite3.connect(shorter)) as conn, conn:
        conn.execute("DELETE FROM ledger_event WHERE seq > ?", (kept,))
    answer = tidegate("ledger", "verify", "--no-redecide", "--ledger", str(shorter))
    assert answer.exit_code == 1
    assert "entries were removed" in answer.stderr
    assert "report_" in answer.stderr
