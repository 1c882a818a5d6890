"""Clients that join NATS with a credentials file: services, subscribers, external checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import nats
import nkeys
import pytest
from nats.js.api import StreamConfig
from typer.testing import CliRunner, Result

from tests.parts.nats.accounts import Account, Key
from tests.parts.nats.sites import CHECKPOINT, Site, publish, two_accounts
from tests.parts.sample import ENTRIES, TURNS, filled
from tidegate.cli.program import build_app
from tidegate.errors import BusUnreachableError
from tidegate.subscribe import newest, subscribe

pytestmark = pytest.mark.real


@pytest.fixture
async def site(tmp_path: Path) -> AsyncGenerator[Site]:
    async with two_accounts(tmp_path) as actual_site:
        yield actual_site


async def test_events_are_read_with_a_file_that_may_read_alone(site: Site) -> None:
    await publish(site)
    reader = str(site.reader)
    assert await newest(site.url, credentials=reader) == len(ENTRIES)
    async with (
        asyncio.timeout(60),
        aclosing(subscribe(site.url, since=1, credentials=reader)) as events,
    ):
        assert [(await anext(events)).seq for _ in range(3)] == [1, 2, 3]


@pytest.mark.slow
async def test_no_client_joins_without_a_file_or_with_one_of_another_operator(
    site: Site, tmp_path: Path
) -> None:
    stranger = Account(Key(nkeys.PREFIX_BYTE_OPERATOR), "TIDEGATE")
    forged = stranger.user(tmp_path / "forged.creds", [">"], [">"])
    for credentials in ("", str(forged)):
        with pytest.raises(BusUnreachableError, match="Authorization"):
            await newest(site.url, credentials=credentials)


async def test_checkpoints_stay_in_another_account(site: Site, tmp_path: Path) -> None:
    auditor = await nats.connect(site.url, user_credentials=str(site.auditor))
    config = StreamConfig(name="C", subjects=[CHECKPOINT], deny_delete=True, deny_purge=True)
    await auditor.jetstream().add_stream(config)
    ledger, key = tmp_path / "ledger.db", tmp_path / "audit.key"
    with filled(f"sqlite:///{ledger}", TURNS):
        pass

    def run(*words: str) -> Result:
        return CliRunner().invoke(build_app(), ["ledger", *words])

    assert run("keygen", "--out", str(key)).exit_code == 0
    words = ("checkpoint", "--ledger", str(ledger), "--key", str(key), "--publish", site.url)
    for credentials, file, code in ((site.owner, "not.json", 3), (site.signer, "kept.json", 0)):
        out = tmp_path / file
        how = ("--bus-credentials", str(credentials), "--out", str(out))
        done = await asyncio.to_thread(run, *words, *how)
        assert (done.exit_code, out.exists()) == (code, code == 0), done.output
    kept = await auditor.jetstream().get_last_msg("C", CHECKPOINT)
    assert kept.data == (tmp_path / "kept.json").read_bytes()
    await auditor.close()
