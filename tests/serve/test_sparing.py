"""What the server's connection to a SQLite file keeps in memory, and what it puts into files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from store.schema import migrate
from tidegate.cli.ledger.reading import open_reader
from tidegate.serve.ledger.memory import CACHE_KIB, with_small_cache

IN_FILES, IN_MEMORY = 1, 2
"""See https://sqlite.org/pragma.html#pragma_temp_store."""


def temp_store_of(file: Path) -> int:
    """Open a ledger as the server does; return where its connection sorts what is large."""
    with open_reader(f"sqlite:///{file}") as reader:
        database = with_small_cache(reader).database
        assert database is not None
        ((cache,),) = database.select("PRAGMA cache_size")
        assert cache == -CACHE_KIB
        ((store,),) = database.select("PRAGMA temp_store")
        return int(store)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    file = tmp_path / "ledger.db"
    migrate.upgrade(f"sqlite:///{file}")
    return file


def test_what_is_large_is_sorted_in_a_file(ledger: Path) -> None:
    assert temp_store_of(ledger) == IN_FILES


def test_where_no_folder_can_be_written_it_is_sorted_in_memory(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    assert temp_store_of(ledger) == IN_MEMORY
