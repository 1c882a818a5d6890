"""A ledger's copies: an archive of lines and a backup are read and audited like the ledger."""

from __future__ import annotations

import gzip
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from store.archive import parquet
from tests.cli.conftest import Tidegate
from tests.cli.test_reading import READINGS
from tests.parts.postgresql import Server
from tests.parts.sample import ENTRIES
from tidegate.contracts.entry import Entry


@pytest.mark.parametrize("name", ["history.jsonl", "history.jsonl.gz", "copy.db"])
def test_a_copy_gives_every_answer_of_the_ledger(
    tidegate: Tidegate, tmp_path: Path, name: str
) -> None:
    copy = str(tmp_path / name)
    assert tidegate("ledger", "backup" if name.endswith(".db") else "export", copy).exit_code == 0
    for arguments in (
        *READINGS,
        ["show", "usage", "--as-of", "46"],
        ["ledger", "verify", "-o", "name"],
    ):
        there = tidegate(*arguments, "--ledger", copy)
        assert there.stdout == tidegate(*arguments).stdout != ""
    assert tidegate("show", "usage", "--as-of", "2026-03-02T08:45", "--ledger", copy).exit_code == 0


def test_a_copy_never_overwrites(tidegate: Tidegate, tmp_path: Path) -> None:
    for command, name in (("export", "x.jsonl"), ("backup", "x.db")):
        (tmp_path / name).write_text("")
        assert tidegate("ledger", command, str(tmp_path / name)).exit_code == 2
    assert tidegate("ledger", "export", str(tmp_path / "x.csv")).exit_code == 2


def test_an_archive_that_was_altered_does_not_verify(tidegate: Tidegate, tmp_path: Path) -> None:
    copy = tmp_path / "history.jsonl.gz"
    tidegate("ledger", "export", str(copy))
    text = gzip.decompress(copy.read_bytes()).decode()
    copy.write_bytes(gzip.compress(text.replace('author\\":\\"kim', 'author\\":\\"tim').encode()))
    result = tidegate("ledger", "verify", "--ledger", str(copy))
    assert (result.exit_code, "at seq 9," in result.stderr) == (1, True)


@pytest.mark.parametrize("line", ["{", '{"seq": "one"}', "[]"])
def test_a_line_that_is_no_entry_is_named(tidegate: Tidegate, tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.jsonl").write_text(line + "\n")
    result = tidegate("events", "--ledger", str(tmp_path / "bad.jsonl"))
    assert (result.exit_code, "Line 1 of" in result.stderr) == (1, True)


def test_an_archive_that_is_not_there_is_reported(tidegate: Tidegate) -> None:
    assert tidegate("show", "usage", "--ledger", "/nowhere/x.jsonl").exit_code == 3


@pytest.mark.real
def test_a_ledger_on_postgresql_is_copied_to_a_file_and_back(
    tidegate: Tidegate, remote: str, postgresql: Server, tmp_path: Path
) -> None:
    copy, restored = str(tmp_path / "copy.db"), postgresql.new_database()
    assert tidegate("ledger", "backup", copy, "--ledger", remote).exit_code == 0
    assert tidegate("ledger", "backup", restored, "--ledger", copy).exit_code == 0
    again = tidegate("ledger", "backup", restored, "--ledger", copy)
    assert (again.exit_code, "holds a ledger already" in again.stderr) == (3, True)
    for arguments in (*READINGS, ["ledger", "verify", "-o", "name"]):
        wanted = tidegate(*arguments).stdout
        for place in (copy, restored):
            assert tidegate(*arguments, "--ledger", place).stdout == wanted != ""
    with closing(sqlite3.connect(copy)) as conn:
        assert conn.execute("SELECT holder FROM ledger_writer").fetchall() == [("sample",)]
    postgresql.drop(restored)


@pytest.mark.parametrize("rows", [7, 20_000], ids=["several row groups", "one row group"])
def test_parquet_holds_every_column_of_every_row(
    tidegate: Tidegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", rows)
    file = tmp_path / "history.parquet"
    assert tidegate("ledger", "export", str(file)).exit_code == 0
    assert pq.ParquetFile(file).num_row_groups == -(-len(ENTRIES) // rows)
    table = pq.read_table(file)
    assert set(table.column_names) == set(Entry.__struct_fields__)
    assert str(table.schema.field("at_us").type) == "timestamp[us, tz=UTC]"
    numbers = table.set_column(
        table.column_names.index("at_us"), "at_us", table["at_us"].cast("int64")
    )
    assert [Entry(**row) for row in numbers.to_pylist()] == list(ENTRIES)


def test_without_pyarrow_the_error_says_what_to_install(
    tidegate: Tidegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = tidegate("ledger", "export", str(tmp_path / "x.parquet"))
    assert (result.exit_code, "tidegate[parquet]" in result.stderr) == (2, True)
    assert list(tmp_path.glob("x*")) == []
    wrong = tidegate("ledger", "export", str(tmp_path / "x.parquet"), "--format", "jsonl")
    assert wrong.exit_code == 2
