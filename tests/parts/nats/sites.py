"""A NATS site of two accounts: Tidegate's and an auditor's, with a file for each client."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import nkeys

from tests.parts.nats.accounts import Account, Key, serving
from tests.parts.sample import ENTRIES
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.streams import StreamOptions
from tidegate.cli.sample.ledger import LEDGER_ID
from tidegate.contracts.entry import Position

CHECKPOINT, INBOX = "tidegate.local.checkpoint", "_INBOX_tidegate_local_checkpoint.>"
READS = [
    "$JS.API.STREAM.INFO.tidegate_local_events",
    "$JS.API.DIRECT.GET.tidegate_local_events",
    "$JS.API.DIRECT.GET.KV_tidegate_local_register",
    "$JS.API.STREAM.INFO.KV_tidegate_local_register",
    "$JS.API.CONSUMER.CREATE.tidegate_local_events",  # nats.js names no consumer
    "$JS.API.CONSUMER.CREATE.tidegate_local_events.>",
    "$JS.API.CONSUMER.DELETE.tidegate_local_events.*",
    "$JS.API.CONSUMER.MSG.NEXT.tidegate_local_events.*",
]


class Site(NamedTuple):
    """A server with two accounts: Tidegate's, and the auditor's."""

    url: str
    owner: Path  # may do anything in Tidegate's account
    reader: Path  # reads events
    auditor: Path  # may do anything in the auditor's account
    signer: Path  # publishes checkpoints there, and nothing else


@asynccontextmanager
async def two_accounts(tmp_path: Path) -> AsyncGenerator[Site]:
    """Run a server of both accounts until the block ends."""
    operator = Key(nkeys.PREFIX_BYTE_OPERATOR)
    ours, audit = Account(operator, "TIDEGATE"), Account(operator, "AUDIT")
    async with serving(tmp_path / "nats", operator, [ours, audit]) as url:
        yield Site(
            url,
            ours.user(tmp_path / "owner.creds", [">"], [">"]),
            ours.user(tmp_path / "reader.creds", READS, ["_INBOX_tidegate_local_client.>"]),
            audit.user(tmp_path / "auditor.creds", [">"], [">"]),
            audit.user(tmp_path / "signer.creds", [CHECKPOINT], [INBOX]),
        )


async def publish(site: Site) -> None:
    """Publish the events of the sample."""
    credentials = str(site.owner)
    async with open_bus(site.url, cluster="local", name="t", credentials=credentials) as bus:
        await bus.ensure_streams(StreamOptions())
        await bus.event_publisher().publish(LEDGER_ID, Position(0, 0), ENTRIES)
