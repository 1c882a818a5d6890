"""A ledger's copies: an archive of lines and a backup are read and audited like the ledger."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tests.cli.test_reading import READINGS


@pytest.mark.parametrize("name", ["history.jsonl", "history.jsonl.gz", "copy.db"])
def test_a_copy_gives_every_answer_of_the_ledger(
    tidegate: Tidegate, tmp_path: Path, name: str
) -> None:
    copy = str(tmp_path / name)
    assert tidegate("ledger", "backup" if name.endswith(".db") else "export", copy).exit_code == 0
    for arguments in (*READINGS, ["usage", "--as-of", "46"], ["ledger", "verify", "-o", "name"]):
        there = tidegate(*arguments, "--ledger", copy)
        assert there.stdout == tidegate(*arguments).stdout != ""
    assert tidegate("usage", "--as-of", "2026-03-02T08:45", "--ledger", copy).exit_code == 0


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
    assert (result.exit_code, "at seq 18" in result.stderr) == (1, True)


@pytest.mark.parametrize("line", ["{", '{"seq": "one"}', "[]"])
def test_a_line_that_is_no_entry_is_named(tidegate: Tidegate, tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.jsonl").write_text(line + "\n")
    result = tidegate("events", "--ledger", str(tmp_path / "bad.jsonl"))
    assert (result.exit_code, "Line 1 of" in result.stderr) == (1, True)


def test_an_archive_that_is_not_there_is_told(tidegate: Tidegate) -> None:
    assert tidegate("usage", "--ledger", "/nowhere/x.jsonl").exit_code == 3
