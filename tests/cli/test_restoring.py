"""A ledger that lost its newest rows gets them back from EVENTS, and only what follows."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest
from nats.aio.client import Client
from typer.testing import Result

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.cli.conftest import Tidegate
from tests.parts.sample import ENTRIES, TURNS, filled, published
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import stream_names

pytestmark = pytest.mark.real
KEPT = TURNS[:-4]
END = KEPT[-1][-1].seq


@pytest.fixture
async def url(tmp_path: Path) -> AsyncGenerator[str, None]:
    """A server whose EVENTS hold the sample."""
    async with published(tmp_path / "nats") as url:
        yield url


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """The sample as a backup from before its last turns has it."""
    file = tmp_path / "cut.db"
    with filled(str(file), KEPT):
        return file


async def recover(tidegate: Tidegate, url: str, ledger: Path) -> Result:
    arguments = ("--bus", url, "--ledger", str(ledger), "--from-events")
    return await asyncio.to_thread(tidegate, "ledger", "recover", *arguments)


@pytest.mark.parametrize("kept", ["cut", "nothing"])
async def test_the_same_rows_come_back(
    tidegate: Tidegate, url: str, cut: Path, tmp_path: Path, kept: str
) -> None:
    ledger = cut if kept == "cut" else tmp_path / "new.db"
    result = await recover(tidegate, url, ledger)
    assert (result.exit_code, "up to seq 79" in result.stderr) == (0, True), repr(result.exception)
    engine = open_engine(str(ledger))
    assert list(SqlLedger(engine).read()) == ENTRIES
    term = SqlLedger(engine).begin_term("next", 0)
    engine.dispose()
    assert term is not None
    assert term.epoch > max(entry.epoch for entry in ENTRIES)
    assert (term.events.seq, term.events.incarnation > 0) == (0, True)


async def test_a_hole_is_no_history(tidegate: Tidegate, url: str, cut: Path) -> None:
    client = Client()
    await client.connect(url)
    await JetStream(client).purge_below(stream_names("local").events, END + 3)
    await client.close()
    result = await recover(tidegate, url, cut)
    assert (
        result.exit_code,
        f"no longer holds the events {END + 1} to {END + 2}" in result.stderr,
    ) == (2, True)


async def test_another_history_is_not_appended(tidegate: Tidegate, url: str, cut: Path) -> None:
    with closing(sqlite3.connect(cut)) as conn, conn:
        conn.execute("UPDATE ledger_event SET hash = zeroblob(32) WHERE seq = ?", (END,))
    result = await recover(tidegate, url, cut)
    assert (result.exit_code, f"at seq {END + 1}" in result.stderr) == (1, True)
    with closing(sqlite3.connect(cut)) as conn:
        assert conn.execute("SELECT MAX(seq) FROM ledger_event").fetchone() == (END,)


async def test_what_is_whole_is_left_alone(tidegate: Tidegate, url: str, sample: Path) -> None:
    result = await recover(tidegate, url, sample)
    assert (result.exit_code, "nothing to restore" in result.stderr) == (2, True)
