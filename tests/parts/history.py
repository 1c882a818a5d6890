"""EVENTS written by hand, as a scheduler would."""

from __future__ import annotations

from msgspec.structs import replace

from tests.bus.memory.all_ports import MemoryBus
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry, Position
from tidegate.contracts.facts import Event

LEDGER = "L1"


class History:
    """One ledger's entries behind a seq, published as they are written.

    ``ahead`` is how far the stream's sequences are ahead of the ledger's.
    """

    def __init__(
        self, bus: MemoryBus, ledger_id: str = LEDGER, *, seq: int = 0, ahead: int = 0
    ) -> None:
        self._outbox, self._ledger_id = bus.event_publisher(), ledger_id
        self._counts = Position(bus.events.end.incarnation, ahead)
        self._before, self._entries = seq, list[Entry]()
        self._head = replace(GENESIS, seq=seq, turn=seq)

    async def write(self, *events: Event) -> int:
        """Append events; return the last seq."""
        _, self._counts = await self._outbox.last_published(self._counts)
        seq = self._before + len(self._entries)
        entries = list[Entry]()
        for event in events:
            entries += seal(self._head, 1, "local", [event])
            self._head = entries[-1]
        await self._outbox.publish(self._ledger_id, self._counts, entries)
        self._entries += entries
        return seq + len(entries)

    async def fill_again(self) -> None:
        """Publish everything once more: the stream was made anew."""
        _, self._counts = await self._outbox.last_published(self._counts)
        await self._outbox.publish(self._ledger_id, self._counts, self._entries)
