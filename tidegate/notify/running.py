"""All receivers of a configuration, side by side, until the process is asked to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from pathlib import Path
from typing import TypeAlias

import msgspec

from tidegate.notify.configuration import Configuration, Receiver
from tidegate.notify.notifier import Notifier, Sends
from tidegate.notify.position import Position
from tidegate.subscribe import LedgerEvent, newest, subscribe

Senders: TypeAlias = Callable[[Receiver], AbstractAsyncContextManager[Sends]]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where events come from; as ``tidegate.subscribe.subscribe`` takes it."""

    bus: str
    ledger: str = ""  # URL; empty: what EVENTS no longer holds is an error
    cluster: str = "local"
    credentials: str = ""
    ca: str = ""

    async def newest(self) -> int:
        """Return the seq of the newest event."""
        return await newest(
            self.bus, cluster=self.cluster, credentials=self.credentials, ca=self.ca
        )

    def events(self, since: int) -> AsyncIterator[LedgerEvent]:
        """Follow the events from one on."""
        return subscribe(
            self.bus,
            ledger=self.ledger,
            since=since,
            cluster=self.cluster,
            credentials=self.credentials,
            ca=self.ca,
        )


async def serve(
    read: Configuration, source: Source, folder: Path, senders: Senders, since: int = 0
) -> None:
    """Serve every receiver until SIGTERM or SIGINT; positions are files in ``folder``.

    One without a position begins at the seq ``since``, or with what comes from now on if it is 0.

    Raises:
        TidegateError: the bus or the ledger cannot be read, or a position is damaged.
    """
    last = await source.newest()
    async with AsyncExitStack() as stack:
        courses = [
            Notifier(
                receiver.rules,
                await stack.enter_async_context(senders(receiver)),
                Position(folder, receiver.name),
            ).run(source.events, last, since)
            for receiver in read.receivers
        ]
        await _until_asked(asyncio.gather(*courses))


async def _until_asked(work: asyncio.Future[list[None]]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, work.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await work
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
