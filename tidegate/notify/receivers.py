"""All receivers of a configuration, side by side, until the process is asked to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

from tidegate.notify.configuration import Configuration, Receiver
from tidegate.notify.notifier import NoticeSender, Notifier
from tidegate.notify.position import Position
from tidegate.subscribe import LedgerEvent, positions, subscribe

Senders: TypeAlias = Callable[[Receiver], AbstractAsyncContextManager[NoticeSender]]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where events come from; as ``tidegate.subscribe.subscribe`` takes it."""

    bus: str
    ledger: str = ""  # URL; empty: what EVENTS no longer holds is an error
    cluster: str = "local"
    credentials: str = ""
    ca: str = ""

    async def newest(self) -> dict[int, int]:
        """Return the seq of the newest event of each partition."""
        return await positions(
            self.bus, cluster=self.cluster, credentials=self.credentials, ca=self.ca
        )

    def events(self, partition: int, since: int) -> AsyncIterator[LedgerEvent]:
        """Follow the events of a partition from a seq on."""
        return subscribe(
            self.bus,
            ledger=self.ledger,
            since=since,
            cluster=self.cluster,
            credentials=self.credentials,
            ca=self.ca,
            partition=partition,
        )


async def serve_receivers(
    read: Configuration, source: Source, folder: Path, senders: Senders, since: int = 0
) -> None:
    """Serve every receiver until SIGTERM or SIGINT; positions are files in ``folder``.

    Each partition that publishes by now is followed from a position of its own. One without a
    position begins at the seq ``since``, or with what comes from now on if it is 0.

    Raises:
        TidegateError: the bus or the ledger cannot be read, or a position is damaged.
    """
    newest = await source.newest()
    async with AsyncExitStack() as stack:
        courses = [
            Notifier(
                receiver.rules,
                await stack.enter_async_context(senders(receiver)),
                Position(position_folder(folder, partition), receiver.name),
            ).run(partial(source.events, partition), last, since)
            for receiver in read.receivers
            for partition, last in newest.items()
        ]
        await _run_until_signal(asyncio.gather(*courses))


def position_folder(folder: Path, partition: int) -> Path:
    """Return where the positions in a partition are; those in partition 0 lie above the others."""
    return folder / f"partition-{partition}" if partition else folder


async def _run_until_signal(work: asyncio.Future[list[None]]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, work.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await work
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
