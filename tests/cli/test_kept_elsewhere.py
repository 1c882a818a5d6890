"""Checkpoints in a stream of another account: stored before they are written, and not deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import nats
import pytest
from nats.js.api import StreamConfig
from nats.js.errors import APIError

from tests.cli.conftest import Tidegate
from tidegate.bus.embedded import embedded_server

pytestmark = pytest.mark.real
STREAM, SUBJECT = "CHECKPOINTS", "tidegate.local.checkpoint"


@pytest.fixture
async def audit(tmp_path: Path) -> AsyncGenerator[str, None]:
    """An auditor's own NATS, whose stream denies deleting."""
    async with embedded_server(tmp_path / "audit") as url:
        connection = await nats.connect(url)
        config = StreamConfig(name=STREAM, subjects=[SUBJECT], deny_delete=True, deny_purge=True)
        await connection.jetstream().add_stream(config)
        await connection.close()
        yield url


async def signed(tidegate: Tidegate, tmp_path: Path, url: str) -> tuple[int, str, Path]:
    key, file = tmp_path / "audit.key", tmp_path / "kept.json"
    if not key.exists():
        assert tidegate("ledger", "keygen", "--out", str(key)).exit_code == 0
    words = ("ledger", "checkpoint", "--key", str(key), "--out", str(file), "--publish", url)
    done = await asyncio.to_thread(tidegate, *words)
    return done.exit_code, done.stderr, file


async def test_a_checkpoint_is_the_stream_s_message_to_the_letter_and_stays(
    tidegate: Tidegate, tmp_path: Path, audit: str
) -> None:
    code, text, file = await signed(tidegate, tmp_path, audit)
    assert (code, " as message 1." in text) == (0, True)
    connection = await nats.connect(audit)
    try:
        kept = await connection.jetstream().get_last_msg(STREAM, SUBJECT)
        assert kept.data == file.read_bytes()
        with pytest.raises(APIError):
            await connection.jetstream().delete_msg(STREAM, 1)
    finally:
        await connection.close()
    copy = tmp_path / "from-the-stream.json"
    copy.write_bytes(kept.data or b"")
    key = ("--checkpoint", str(copy), "--public-key", str(tmp_path / "audit.key.pub"))
    verified = await asyncio.to_thread(tidegate, "ledger", "verify", "--no-redecide", *key)
    assert verified.exit_code == 0
    file.unlink()
    _, text, _ = await signed(tidegate, tmp_path, audit)
    assert " as message 1." in text


@pytest.mark.slow
async def test_nothing_is_written_where_no_stream_keeps_it(
    tidegate: Tidegate, tmp_path: Path
) -> None:
    async with embedded_server(tmp_path / "audit") as url:
        code, text, file = await signed(tidegate, tmp_path, url)
    assert (code, "No stream at " in text, file.exists()) == (3, True, False)
    code, text, file = await signed(tidegate, tmp_path, "nats://127.0.0.1:1")
    assert (code, file.exists()) == (3, False)
