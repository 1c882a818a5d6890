"""EVENTS as its subscribers read it: by ledger seq, in order, over reconnections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from tidegate.bus.dedup import Once
from tidegate.bus.headers import published, standing
from tidegate.bus.jetstream.register import NatsRegister
from tidegate.bus.jetstream.tail import find_place, prove_tail, taken
from tidegate.bus.jetstream.wire.reader import Delivered, StreamReader
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.provenance import Forged, Provenance, unnoticed
from tidegate.bus.streams import Names
from tidegate.contracts.entry import Position, Published
from tidegate.errors import BusUnreachableError

READ_MESSAGES = 1_000
READ_S = 30.0
RETRY_S = 0.5


class NatsFeed:
    """``tidegate.bus.ports.EventFeed`` over JetStream.

    ``subject`` narrows what is read. Then nothing is proven: an entry's hash follows from the one
    before it, which is not read. ``forged`` hears of messages that are not the ledger's.
    """

    def __init__(
        self,
        js: JetStream,
        names: Names,
        patience_s: float,
        subject: str = "",
        forged: Forged = unnoticed,
    ) -> None:
        self._js, self._names = js, names
        self._patience_s, self._subject = patience_s, subject
        self._register, self._forged = NatsRegister(js, names, patience_s), forged
        self._proven = Provenance()  # up to the newest entry of any follower

    async def newest(self) -> tuple[str, int]:
        """See ``tidegate.bus.ports.EventFeed.newest``."""
        message = await self._js.newest(
            self._names.events, self._subject or self._names.event_subjects
        )
        if message is None:
            return "", 0
        headers = message.headers or {}
        event = standing(headers, headers.get("Nats-Subject", ""), message.data)
        if self._subject or self._proven.knows(event):
            return event.ledger_id, event.seq
        proven = await prove_tail(self._js, self._names)
        return proven.ledger_id, proven.seq

    async def follow(self, after: int | None = None) -> AsyncGenerator[Published, None]:
        """See ``tidegate.bus.ports.EventFeed.follow``."""
        loop = asyncio.get_running_loop()
        reader = StreamReader(self._js, self._names.events, self._subject)
        at, patient_until = None, loop.time() + self._patience_s
        once, proven = Once(), Provenance(self._forged)
        try:
            while True:
                try:
                    at = at or await self._start(after, proven)
                    deliveries = await reader.read(at, READ_MESSAGES, READ_S)
                    for message in deliveries:
                        for event in await self._taken(message, once, proven):
                            yield event
                        at = message.at
                except BusUnreachableError:
                    if loop.time() > patient_until:
                        raise
                    await asyncio.sleep(RETRY_S)
                    continue
                patient_until = loop.time() + self._patience_s
        finally:
            await reader.close()

    async def _taken(
        self, message: Delivered, once: Once, proven: Provenance
    ) -> tuple[Published, ...]:
        if not self._subject:
            events = await taken(self._register, proven, message)
            self._proven = proven
            return events
        event = published(message.headers, message.subject, message.payload)
        return (event,) if event is not None and once.is_new(event) else ()

    async def _start(self, after: int | None, proven: Provenance) -> Position:
        """Return where to begin in the stream; what is behind it is proven by what is before."""
        info = await self._js.existing(self._names.events)
        end = info.state.last_seq
        if not info.state.messages:
            return Position(info.incarnation, end)
        tail = await prove_tail(self._js, self._names)
        if after is None:
            proven.begin(tail.seq, tail)
            return Position(info.incarnation, end)
        same = self._proven.ledger_id == tail.ledger_id
        if not (same and proven.begin(after, self._proven)):
            proven.begin(after, tail)
        place = await find_place(self._js, self._names.events, after, tail)
        return Position(info.incarnation, min(place, end))
