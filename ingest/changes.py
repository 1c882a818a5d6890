"""Changes of one resource that wait to be published: of each object the newest alone.

Observations say what is, not what was: of two changes of an object that came together the second
stands for both. A deletion stands beside what came before it, for that may have been its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from ingest.watch import Changed

WAITING_MAX = 1_024
"""Changes that wait; beyond that the watch is not read on."""
BUSY = 4
"""From this many new objects at once, batches are delayed."""
REST_S = 0.02
"""How long changes gather after some went: a new object waits so long only behind a load."""


class Changes:
    """Changes added by a watch and published batch by batch."""

    def __init__(self) -> None:
        self._waiting = dict[tuple[str, str, bool], Changed]()
        self._moved, self._capacity = asyncio.Event(), asyncio.Event()
        self._rested = asyncio.Event()
        self._ended = False
        self._loaded = False  # the last batch was a load

    async def put(self, change: Changed) -> None:
        """Add a change in the place of an older one of the same object; wait while there are many.

        What is put in the place of another goes to the end: batches are in the order of the newest.
        """
        meta = change.object.metadata
        key = (meta.uid, meta.name, change.type == "DELETED")
        self._waiting.pop(key, None)
        self._waiting[key] = change
        self._moved.set()
        if change.type == "ADDED" and not self._loaded:
            self._rested.set()
        if len(self._waiting) >= WAITING_MAX:
            self._capacity.clear()
            await self._capacity.wait()

    def end(self) -> None:
        """Let ``batches`` end once all changes are published."""
        self._ended = True
        self._moved.set()
        self._rested.set()

    async def batches(self) -> AsyncGenerator[list[Changed]]:
        """Yield all waiting changes, again and again, pausing after each batch, until ``end``."""
        while True:
            await self._moved.wait()
            self._moved.clear()
            batch = list(self._waiting.values())
            self._waiting.clear()
            self._capacity.set()
            self._rested.clear()
            self._loaded = sum(change.type == "ADDED" for change in batch) >= BUSY
            if batch:
                yield batch
            if self._ended and not self._waiting:
                return
            if batch and not self._ended:
                await self._rest()

    async def _rest(self) -> None:
        """Let changes gather: a job's states follow one another, and the last says all.

        A new object ends the rest, and takes along what waits, unless the batch was a load.
        """
        timer = asyncio.get_running_loop().call_later(REST_S, self._rested.set)
        await self._rested.wait()
        timer.cancel()
