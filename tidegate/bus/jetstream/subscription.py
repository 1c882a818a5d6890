"""EVENTS as its subscribers read it: by ledger seq, in order, over reconnections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from tidegate.bus.dedup import Once
from tidegate.bus.headers import identity, published
from tidegate.bus.jetstream.reader import StreamReader
from tidegate.bus.jetstream.requests import JetStream
from tidegate.bus.streams import Names
from tidegate.contracts.entry import Position, Published
from tidegate.errors import BusUnreachableError

READ_MESSAGES = 1_000
READ_S = 30.0
RETRY_S = 0.5


class NatsFeed:
    """``tidegate.bus.ports.EventFeed`` over JetStream; ``subject`` narrows what is read."""

    def __init__(self, js: JetStream, names: Names, patience_s: float, subject: str = "") -> None:
        self._js, self._names = js, names
        self._patience_s, self._subject = patience_s, subject

    async def newest(self) -> tuple[str, int]:
        """See ``tidegate.bus.ports.EventFeed.newest``."""
        found = await self._js.newest(
            self._names.events, self._subject or self._names.event_subjects
        )
        return identity(found.headers or {}) if found is not None else ("", 0)

    async def follow(self, after: int | None = None) -> AsyncGenerator[Published, None]:
        """See ``tidegate.bus.ports.EventFeed.follow``."""
        loop = asyncio.get_running_loop()
        reader = StreamReader(self._js, self._names.events, self._subject)
        at, once, patient_until = None, Once(), loop.time() + self._patience_s
        try:
            while True:
                try:
                    at = at or await self._start(after)
                    told = await reader.read(at, READ_MESSAGES, READ_S)
                except BusUnreachableError:
                    if loop.time() > patient_until:
                        raise
                    await asyncio.sleep(RETRY_S)
                    continue
                patient_until = loop.time() + self._patience_s
                for message in told:
                    at = message.at
                    one = published(message.headers, message.subject, message.payload)
                    if one is not None and once.is_new(one):
                        yield one
        finally:
            await reader.close()

    async def _start(self, after: int | None) -> Position:
        found = await self._js.existing(self._names.events)
        end = found.state.last_seq
        if after is None or not found.state.messages:
            return Position(found.incarnation, end)
        newest = await self._js.newest(self._names.events, self._names.event_subjects)
        if newest is None:
            return Position(found.incarnation, end)
        headers = newest.headers or {}
        counts = int(headers["Nats-Sequence"]) - identity(headers)[1]
        return Position(found.incarnation, max(0, min(after + counts, end)))
