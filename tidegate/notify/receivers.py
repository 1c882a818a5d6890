"""Serving all receivers side by side: events in order, through their rules to their webhooks.

Each receiver has a subscription and a position of its own, so that an unreachable one does not
delay the others. A notice is recorded as sent after the receiver accepted it: a crash in between
repeats it, under the same key.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec

from tidegate.errors import BusUnreachableError, MissedEventsError
from tidegate.notify.configuration import Configuration, Receiver, Rule
from tidegate.notify.positions import Change, Position, Served
from tidegate.notify.rules import Notice, Rules
from tidegate.service.clock import utc_now_us
from tidegate.service.logs import get_log
from tidegate.subscribe import LedgerEvent, positions, subscribe

AHEAD = 100
EACH = 1_000
"""After so many events without a notice the position is written all the same."""
_log = get_log("notify")
Events = Callable[[int], AsyncIterator[LedgerEvent]]


class NoticeSender(Protocol):
    """What takes a notice."""

    async def send(self, notice: Notice) -> bool:
        """Send it; return whether it was taken."""
        ...


class Notifier:
    """Serves one receiver until it is cancelled."""

    def __init__(
        self,
        rules: tuple[Rule, ...],
        sender: NoticeSender,
        position: Position,
        now_us: Callable[[], int] = utc_now_us,
    ) -> None:
        self._sender, self._position, self._now_us = sender, position, now_us
        served = position.read()
        self._is_new = served is None
        self._rules = Rules(rules, served.waiting if served else None)
        self._seq = self._written = served.seq if served else 0

    async def run(self, events: Events, newest: int, since: int = 0) -> None:
        """Go on from the position until cancelled.

        Without one it begins at the seq ``since``, or behind ``newest`` if that is 0.

        Raises:
            MissedEventsError: what comes next is gone from EVENTS, and no ledger is named.
            TidegateError: the bus or the ledger cannot be read.
        """
        if self._is_new:
            self._seq = since - 1 if since else newest
        self._write_whole_position()
        queue = asyncio.Queue[LedgerEvent](AHEAD)
        reading = asyncio.create_task(_enqueue_events(events(self._seq + 1), queue))
        try:
            while True:
                # A wait that ended meanwhile must not be noticed: first all that there is is read.
                await self._handle_next(queue, reading, is_caught_up=self._seq >= newest)
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    async def _handle_next(
        self, queue: asyncio.Queue[LedgerEvent], reading: asyncio.Task[None], *, is_caught_up: bool
    ) -> None:
        """Handle the next event, or the waits that became too long before it."""
        event = await self._next_event(
            queue, reading, self._seconds_to_next_wait() if is_caught_up else None
        )
        if event is None:
            await self._send_notices(self._rules.due_notices(self._now_us()))
        else:
            notices = list(self._rules.record_event(event))
            self._seq = event.seq
            await self._send_notices(notices)

    def _seconds_to_next_wait(self) -> float | None:
        next_us = self._rules.next_us()
        return None if next_us is None else max(0.0, (next_us - self._now_us()) / 1e6)

    async def _next_event(
        self, queue: asyncio.Queue[LedgerEvent], reading: asyncio.Task[None], within_s: float | None
    ) -> LedgerEvent | None:
        """Return the next event; None if there is none in time."""
        if not queue.empty():
            return queue.get_nowait()
        getting = asyncio.ensure_future(queue.get())
        try:
            done, _ = await asyncio.wait(
                {getting, reading}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            if not getting.done():
                getting.cancel()
        if getting in done:
            return getting.result()
        if reading in done:
            reading.result()
            raise BusUnreachableError("The subscription to EVENTS ended.")
        return None

    async def _send_notices(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            await self._sender.send(notice)
            self._write_position()
        if self._seq - self._written >= EACH:
            self._write_position()

    def _write_position(self) -> None:
        change = Change(seq=self._seq, waiting=self._rules.take_changes())
        self._written = self._seq
        if not self._position.append(change):
            self._write_whole_position()

    def _write_whole_position(self) -> None:
        self._position.write(Served(seq=self._seq, waiting=self._rules.waiting))


async def _enqueue_events(
    events: AsyncIterator[LedgerEvent], queue: asyncio.Queue[LedgerEvent]
) -> None:
    async for event in events:
        await queue.put(event)


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
    position begins at the seq ``since``, or with what comes from now on if it is 0. A receiver that
    was away until EVENTS had dropped its next event is served no more, and the others are.

    Raises:
        TidegateError: the bus or the ledger cannot be read, or a position is damaged.
        MissedEventsError: no receiver is served any more.
    """
    newest = await source.newest()
    async with AsyncExitStack() as stack:
        courses = [
            _until_missed(
                Notifier(
                    receiver.rules,
                    await stack.enter_async_context(senders(receiver)),
                    Position(position_folder(folder, partition), receiver.name),
                ).run(partial(source.events, partition), last, since),
                receiver.name,
                partition,
            )
            for receiver in read.receivers
            for partition, last in newest.items()
        ]
        await _run_until_signal(_gather(courses))


async def _until_missed(
    course: Coroutine[Any, Any, None], receiver: str, partition: int
) -> MissedEventsError:
    """Serve a receiver until it cannot be served without a gap; return why."""
    try:
        await course
    except MissedEventsError as error:
        todo = "give --ledger, or remove its position to continue with new events only"
        _log.error(
            "not served", receiver=receiver, partition=partition, error=str(error), todo=todo
        )
        return error
    raise AssertionError("a receiver is served until it is cancelled")


async def _gather(courses: Iterable[Coroutine[Any, Any, MissedEventsError]]) -> None:
    for error in await asyncio.gather(*courses):
        raise error


def position_folder(folder: Path, partition: int) -> Path:
    """Return where the positions in a partition are; those in partition 0 lie above the others."""
    return folder / f"partition-{partition}" if partition else folder


async def _run_until_signal(serving: Coroutine[Any, Any, None]) -> None:
    loop, work = asyncio.get_running_loop(), asyncio.ensure_future(serving)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, work.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await work
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
