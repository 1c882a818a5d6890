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
from tidegate.cli.commands.ledger import auditing
from tidegate.replay.verify import Witness

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

        code, text = await verify(sample, "--witness", url)
        assert (code, text.partition(":")[0]) == (0, "Not covered")
        with closing(sqlite3.connect(cut)) as conn, conn:  # else these tell of it
            for (name,) in conn.execute(REPORTS).fetchall():
                conn.execute(f"DELETE FROM {name}")  # noqa: S608 - our names
        assert (await verify(cut, "--no-redecide"))[0] == 0
        code, text = await verify(cut, "--no-redecide", "--witness", url)
        assert (code, "seq 79" in text, "the end at 70" in text) == (1, True, True)


@pytest.mark.slow
def test_a_bus_that_does_not_answer_is_no_proof(tidegate: Tidegate) -> None:
    result = tidegate("ledger", "verify", "--witness", "nats://127.0.0.1:1")
    assert result.exit_code == 3
    assert "Waiting for NATS at nats://127.0.0.1:1 to answer." in result.stderr


def test_what_is_written_while_the_witness_answers_is_no_lost_tail(
    tidegate: Tidegate, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = tmp_path / "live.db"
    shutil.copy(sample, live)
    with closing(sqlite3.connect(live)) as conn, conn:
        conn.execute("DELETE FROM ledger_event WHERE seq > 70")

    def answer(*_options: object) -> Witness:
        with closing(sqlite3.connect(live)) as conn, conn:
            conn.execute("ATTACH DATABASE ? AS whole", (str(sample),))
            rows = "SELECT * FROM whole.ledger_event WHERE seq > 70"
            conn.execute(f"INSERT INTO ledger_event {rows}")
            query = "SELECT seq, hash FROM ledger_event ORDER BY seq DESC LIMIT 1"
            seq, digest = conn.execute(query).fetchone()
        return Witness(seq=seq, hash=digest)

    monkeypatch.setattr(auditing, "read_witness", answer)
    result = tidegate("ledger", "verify", "--no-redecide", "--ledger", str(live))
    assert (result.exit_code, result.stderr.partition(":")[0]) == (0, "Not covered")
