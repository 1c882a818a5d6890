"""Ledger and EVENTS as one: what the stream no longer holds comes from the ledger.

A follower knows the seq of its last event. A message at or below it is a duplicate, one that
is further than the next shows a hole, and a hole is filled from the ledger, which has no holes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from itertools import islice
from typing import Protocol

from tidegate.bus.headers import entry_of
from tidegate.bus.ports import EventFeed
from tidegate.contracts.entry import Entry, Published
from tidegate.errors import BusUnreachableError, MissedEventsError

PAGE_ROWS = 1_000
CANCEL_AGAIN_S = 0.1


class LedgerReader(Protocol):
    """The reading side of ``tidegate.bus.ports.Ledger``. Synchronous: read in a thread."""

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until``, in order."""
        ...


async def catchup_entries(
    feed: EventFeed, ledger: LedgerReader | None, after: int | None
) -> AsyncGenerator[Entry, None]:
    """Yield every entry behind ledger seq ``after``, each once and in order; None: only new ones.

    ``feed`` must not be narrowed to some subjects: a hole would not be seen. A ledger that was
    given a new name goes on from its last own entry, so that a seq may come again: as another
    event.

    Raises:
        MissedEventsError: EVENTS has a hole and there is no ledger to fill it from.
        BusUnreachableError: the bus stays silent too long.
        LedgerUnreachableError: the ledger's database does not answer.
    """
    at = after
    if ledger is not None and at is not None:
        async for entry in _read_ledger(ledger, at, None):
            yield entry
            at = entry.seq
    ledger_id = ""
    async with aclosing(_follow_feed(feed, at)) as following:
        async for message in following:
            if at is not None and ledger_id in {"", message.ledger_id}:
                if message.seq <= at:
                    continue
                async for entry in _missing_entries(ledger, at, message.seq):
                    yield entry
            yield entry_of(message)
            at, ledger_id = message.seq, message.ledger_id


async def merge_partitions(
    histories: Sequence[AsyncGenerator[Entry, None]],
) -> AsyncGenerator[Entry, None]:
    """Yield the entries of several partitions as they come; those of each stay in order.

    An error of one ends all.
    """
    if len(histories) == 1:
        async with aclosing(histories[0]) as alone:
            async for entry in alone:
                yield entry
        return
    queue = asyncio.Queue[Entry](PAGE_ROWS)
    reading = [asyncio.create_task(_enqueue_entries(history, queue)) for history in histories]
    try:
        while True:
            yield queue.get_nowait() if queue.qsize() else await _next_entry(queue, reading)
    finally:
        await _cancel_tasks(reading)


async def _cancel_tasks(reading: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended: nats-py loses a cancellation while it flushes."""
    while unfinished := [task for task in reading if not task.done()]:
        for task in unfinished:
            task.cancel()
        await asyncio.wait(unfinished, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*reading, return_exceptions=True)


async def _next_entry(queue: asyncio.Queue[Entry], reading: Sequence[asyncio.Task[None]]) -> Entry:
    """Wait for an entry, or for an error of a reading task."""
    getting = asyncio.create_task(queue.get())
    try:
        done, _ = await asyncio.wait({getting, *reading}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not getting.done():
            getting.cancel()
    if getting not in done:
        for task in done:
            task.result()
        raise BusUnreachableError("The subscription to EVENTS ended.")
    return getting.result()


async def _enqueue_entries(
    history: AsyncGenerator[Entry, None], queue: asyncio.Queue[Entry]
) -> None:
    async with aclosing(history) as entries:
        async for entry in entries:
            await queue.put(entry)


async def _follow_feed(feed: EventFeed, after: int | None) -> AsyncGenerator[Published, None]:
    async for message in feed.follow(after):
        yield message


async def _missing_entries(
    ledger: LedgerReader | None, after: int, before: int
) -> AsyncGenerator[Entry, None]:
    """Yield what lies between two seqs.

    Raises:
        MissedEventsError: no source has it.
    """
    expected = after + 1
    if ledger is not None and expected < before:
        async for entry in _read_ledger(ledger, after, before - 1):
            yield entry
            expected = entry.seq + 1
    if expected != before:
        raise MissedEventsError(f"event {expected}", f"event {before}")


async def _read_ledger(
    ledger: LedgerReader, after: int, until: int | None
) -> AsyncGenerator[Entry, None]:
    while True:
        page = await asyncio.to_thread(_read_page, ledger, after, until)
        for entry in page:
            yield entry
        if len(page) < PAGE_ROWS:
            return
        after = page[-1].seq


def _read_page(ledger: LedgerReader, after: int, until: int | None) -> list[Entry]:
    return list(islice(ledger.read(after, until), PAGE_ROWS))
