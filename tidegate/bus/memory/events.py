"""EVENTS in memory: the outbox with its fence, and the feed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from tidegate.bus.dedup import Once
from tidegate.bus.headers import MESSAGE_ID, event_headers, identity, published
from tidegate.bus.memory.faults import SILENT, Fate
from tidegate.bus.memory.stream import MemoryStream, New
from tidegate.contracts.entry import Entry, Position, Published
from tidegate.errors import BusUnreachableError, PublishRefusedError


class MemoryEventPublisher:
    """``tidegate.bus.ports.EventPublisher`` in one process."""

    def __init__(self, stream: MemoryStream, fate: Fate) -> None:
        self._stream, self._fate = stream, fate

    async def last(self, known: Position) -> tuple[int, Position]:
        """See ``tidegate.bus.ports.EventPublisher.last``."""
        await self._fate.reach()
        end = self._stream.end
        if known.incarnation in (0, end.incarnation):
            return end.seq - known.seq, Position(end.incarnation, known.seq)
        return end.seq, Position(end.incarnation, 0)

    async def count(self) -> int:
        """See ``tidegate.bus.ports.EventPublisher.count``."""
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
            if self._fate.random.random() < 0.5:  # noqa: PLR2004 - either is as likely
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

    def __init__(self, stream: MemoryStream, fate: Fate) -> None:
        self._stream, self._fate = stream, fate

    async def newest(self) -> tuple[str, int]:
        """See ``tidegate.bus.ports.EventFeed.newest``."""
        await self._fate.lag()
        kept = self._stream.newest()
        return identity(kept.headers) if kept is not None else ("", 0)

    async def follow(self, after: int | None = None) -> AsyncIterator[Published]:
        """See ``tidegate.bus.ports.EventFeed.follow``."""
        at, once = self._start(after), Once()
        while True:
            await self._fate.lag()
            if at.incarnation != self._stream.end.incarnation:
                at = Position(self._stream.end.incarnation, 0)
            for kept in list(self._stream.after(at.seq)):
                at = kept.at
                one = published(kept.headers, kept.subject, kept.payload)
                if one is None or self._fate.strikes("event_lost"):
                    continue
                if once.is_new(one):
                    yield one
            end = self._stream.end
            if at.incarnation == end.incarnation and at.seq >= end.seq:
                await self._stream.change()

    def _start(self, after: int | None) -> Position:
        end, newest = self._stream.end, self._stream.newest()
        if after is None or newest is None:
            return end
        counts = newest.at.seq - identity(newest.headers)[1]
        return Position(end.incarnation, max(0, min(after + counts, end.seq)))
