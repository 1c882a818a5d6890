"""EVENTS written by hand, as a scheduler would."""

from __future__ import annotations

from tidegate.bus.memory import MemoryBus
from tidegate.contracts import codec, subjects
from tidegate.contracts.entry import Entry, Position
from tidegate.contracts.facts import Event

LEDGER = "L1"


class History:
    """One ledger's entries, published as they are written."""

    def __init__(self, bus: MemoryBus) -> None:
        self._outbox = bus.outbox()
        self._counts = Position()
        self._seq = 0

    async def write(self, *events: Event) -> int:
        """Append events; return the last seq."""
        _, self._counts = await self._outbox.last(self._counts)
        entries = [_entry(event, self._seq + at) for at, event in enumerate(events, 1)]
        await self._outbox.publish(LEDGER, self._counts, entries)
        self._seq += len(events)
        return self._seq


def _entry(event: Event, seq: int) -> Entry:
    return Entry(
        partition=0,
        seq=seq,
        epoch=1,
        turn=seq,
        at_us=event.at_us,
        cluster="local",
        type=codec.type_name(event),
        subject=subjects.event("local", event),
        payload=codec.encode(event).decode(),
        hash=bytes(32),
    )
