"""A chain does not show that its tail was cut off; what was published last does."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tests.parts.sample import published

REPORTS = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'report_%'"


@pytest.mark.real
async def test_a_tail_that_was_cut_off_is_found_by_what_was_published(
    tidegate: Tidegate, sample: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.db"
    shutil.copy(sample, cut)
    with closing(sqlite3.connect(cut)) as conn, conn:
        conn.execute("DELETE FROM ledger_event WHERE seq > 70")
    async with published(tmp_path / "nats") as url:

        async def verify(ledger: Path, *witness: str) -> tuple[int, str]:
            arguments = ("ledger", "verify", "--ledger", str(ledger), *witness)
            result = await asyncio.to_thread(tidegate, *arguments)
            return result.exit_code, result.stderr

        code, said = await verify(sample, "--witness", url)
        assert (code, said.partition(":")[0]) == (0, "Not covered")
        with closing(sqlite3.connect(cut)) as conn, conn:  # else these tell of it
            for (name,) in conn.execute(REPORTS).fetchall():
                conn.execute(f"DELETE FROM {name}")  # noqa: S608 - our names
        assert (await verify(cut, "--no-redecide"))[0] == 0
        code, said = await verify(cut, "--no-redecide", "--witness", url)
        assert (code, "seq 79" in said, "the end at 70" in said) == (1, True, True)


def test_a_bus_that_does_not_answer_is_no_proof(tidegate: Tidegate) -> None:
    result = tidegate("ledger", "verify", "--witness", "nats://127.0.0.1:1")
    assert result.exit_code == 3
