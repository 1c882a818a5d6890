"""EVENTS in memory: the outbox with its fence, and the feed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from tests.bus.memory.faults import SILENT, Fate
from tests.bus.memory.stream import Kept, MemoryStream, New
from tidegate.bus.headers import (
    MESSAGE_ID,
    event_headers,
    ledger_id_and_seq,
    parse_event,
    parse_message,
)
from tidegate.bus.provenance import OnForged, Provenance, ignore_forged
from tidegate.contracts.entry import Entry, Position, Published
from tidegate.errors import BusUnreachableError, PublishRefusedError


class MemoryEventPublisher:
    """``tidegate.bus.ports.EventPublisher`` in one process."""

    def __init__(self, stream: MemoryStream, fate: Fate) -> None:
        self._stream, self._fate = stream, fate

    async def last_published(self, position: Position) -> tuple[int, Position]:
        """See ``tidegate.bus.ports.EventPublisher.last_published``."""
        await self._fate.reach()
        end = self._stream.end
        if position.incarnation in (0, end.incarnation):
            return end.seq - position.seq, Position(end.incarnation, position.seq)
        return end.seq, Position(end.incarnation, 0)

    async def message_at(self, counts: Position, seq: int) -> Published | None:
        """See ``tidegate.bus.ports.EventPublisher.message_at``."""
        await self._fate.reach()
        place = seq + counts.seq
        delivery = next(
            (candidate for candidate in self._stream.after(place - 1) if candidate.at.seq == place),
            None,
        )
        return (
            None
            if delivery is None
            else parse_message(delivery.headers, delivery.subject, delivery.payload)
        )

    async def message_count(self) -> int:
        """See ``tidegate.bus.ports.EventPublisher.message_count``."""
        await self._fate.reach()
        return self._stream.count

    async def publish(self, ledger_id: str, counts: Position, entries: Sequence[Entry]) -> None:
        """See ``tidegate.bus.ports.EventPublisher.publish``."""
        if not entries:
            return
        await self._fate.reach()
        if self._fate.strikes("recreate_events"):
            self._stream.recreate()
        self._store(ledger_id, counts, entries)
        await self._fate.lag()
        if self._fate.strikes("reply_lost"):
            # A client that tries again by itself is refused; one that does not hears nothing.
            if self._fate.random.random() < 0.5:
                self._store(ledger_id, counts, entries)
            raise BusUnreachableError(SILENT)

    def _store(self, ledger_id: str, counts: Position, entries: Sequence[Entry]) -> None:
        before = ""
        for entry in entries:
            headers = event_headers(ledger_id, entry, counts)
            message_id = headers[MESSAGE_ID]
            if not self._stream.known(message_id):
                actual = self._stream.end.seq - counts.seq
                if actual != entry.seq - 1 or before not in ("", self._stream.newest_id):
                    raise PublishRefusedError(entry.seq - 1, actual)
                self._stream.store(
                    [New(message_id, entry.subject, entry.payload.encode(), headers)]
                )
            before = message_id


class MemoryFeed:
    """``tidegate.bus.ports.EventFeed`` in one process."""

    def __init__(self, stream: MemoryStream, fate: Fate, forged: OnForged = ignore_forged) -> None:
        self._stream, self._fate, self._forged = stream, fate, forged

    async def newest(self) -> tuple[str, int]:
        """See ``tidegate.bus.ports.EventFeed.newest``."""
        await self._fate.lag()
        proven = self._tail()
        return proven.ledger_id, proven.seq

    async def follow(self, after: int | None = None) -> AsyncIterator[Published]:
        """See ``tidegate.bus.ports.EventFeed.follow``."""
        proven = Provenance(self._forged)
        at = self._start(after, proven)
        while True:
            await self._fate.lag()
            if at.incarnation != self._stream.end.incarnation:
                at = Position(self._stream.end.incarnation, 0)
            for delivery in list(self._stream.after(at.seq)):
                at = delivery.at
                if self._fate.strikes("event_lost"):
                    continue
                for event in _taken(proven, delivery):
                    yield event
            end = self._stream.end
            if at.incarnation == end.incarnation and at.seq >= end.seq:
                await self._stream.change()

    def _start(self, after: int | None, proven: Provenance) -> Position:
        end, tail = self._stream.end, self._tail()
        proven.start_from(tail.seq if after is None else after, tail)
        if after is None or not tail.seq:
            return end
        return Position(end.incarnation, self._place(after, tail))

    def _place(self, after: int, tail: Provenance) -> int:
        """Return the stream sequence of a ledger seq; that of its newest copy."""
        deliveries = reversed(list(self._stream.after(0)))
        identity_wanted = (tail.ledger_id, after)
        places = (
            delivery.at.seq
            for delivery in deliveries
            if ledger_id_and_seq(delivery.headers) == identity_wanted
        )
        return next(places, 0)

    def _tail(self) -> Provenance:
        """Return what follows from the messages that are kept."""
        proven = Provenance()
        for delivery in self._stream.after(0):
            _taken(proven, delivery)
        return proven


def _taken(proven: Provenance, delivery: Kept) -> tuple[Published, ...]:
    event = parse_event(delivery.headers, delivery.subject, delivery.payload)
    if event is None:
        proven.skip(delivery.at)
        return ()
    return proven.verify(event, delivery.at)
