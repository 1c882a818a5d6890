"""OBSERVATIONS in memory: the outlet, the inbox, and what may go wrong between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from tests.bus.memory.faults import SILENT, Fate
from tests.bus.memory.stream import Kept, MemoryStream, New
from tidegate.contracts.entry import Message, Position
from tidegate.errors import BusUnreachableError

TRIES_MAX = 5
RETRY_S = 0.5


class MemoryObservationPublisher:
    """``tidegate.bus.ports.ObservationPublisher`` in one process."""

    def __init__(self, stream: MemoryStream, resyncs: MemoryStream, fate: Fate) -> None:
        self._stream, self._resyncs, self._fate = stream, resyncs, fate
        self._turns = asyncio.Lock()  # keeps the order of the calls

    async def publish(self, subject: str, payload: bytes, message_id: str) -> None:
        """See ``tidegate.bus.ports.ObservationPublisher.publish``."""
        async with self._turns:
            for _ in range(TRIES_MAX):
                if await self._try(New(message_id, subject, payload)):
                    return
                await asyncio.sleep(RETRY_S)
        raise BusUnreachableError(SILENT)

    async def resync_requests(self) -> AsyncIterator[str]:
        """See ``tidegate.bus.ports.ObservationPublisher.resync_requests``."""
        at = self._resyncs.end.seq
        while True:
            for delivery in list(self._resyncs.after(at)):
                at = delivery.at.seq
                yield delivery.payload.decode()
            if self._resyncs.end.seq == at:
                await self._resyncs.change()

    async def _try(self, new: New) -> bool:
        """Store it once there is room; return whether an answer came."""
        await self._fate.lag()
        if self._fate.strikes("unreachable"):
            return False
        while not self._stream.known(new.message_id):
            if self._stream.has_room():
                self._stream.store([new])
                break
            await self._stream.change()
        if self._fate.strikes("hole"):
            self._stream.lose(self._stream.end.seq)
        return not self._fate.strikes("reply_lost")


class MemoryObservationReader:
    """``tidegate.bus.ports.ObservationReader`` in one process."""

    def __init__(self, stream: MemoryStream, resyncs: MemoryStream, fate: Fate) -> None:
        self._stream, self._resyncs, self._fate = stream, resyncs, fate

    @property
    def end(self) -> Position:
        """Return where the stream ends now."""
        return self._stream.end

    async def start_position(self) -> Position:
        """See ``tidegate.bus.ports.ObservationReader.start_position``."""
        await self._fate.reach()
        return self._stream.end if self._stream.end.seq else Position()

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        """See ``tidegate.bus.ports.ObservationReader.pull``."""
        await self._fate.reach()
        if self._fate.strikes("recreate"):
            self._stream.recreate()
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while not self._follow(after):
                    await self._stream.change()
        deliveries = self._shake(self._follow(after), after)[:count_max]
        return [
            Message(delivery.at, delivery.at_us, delivery.subject, delivery.payload)
            for delivery in deliveries
        ]

    async def purge_through(self, position: Position) -> None:
        """See ``tidegate.bus.ports.ObservationReader.purge_through``."""
        await self._fate.reach()
        end = self._stream.end
        if position.incarnation == end.incarnation and position.seq <= end.seq:
            self._stream.purge(position.seq)
        await self._fate.lag()

    async def request_resync(self, reason: str) -> None:
        """See ``tidegate.bus.ports.ObservationReader.request_resync``."""
        await self._fate.reach()
        place = self._resyncs.end.seq
        self._resyncs.store([New(f"resync:{place}", "resync", reason.encode())])

    def _follow(self, after: Position) -> list[Kept]:
        same = after.incarnation == self._stream.end.incarnation
        return list(self._stream.after(after.seq if same else 0))

    def _shake(self, deliveries: list[Kept], after: Position) -> list[Kept]:
        fate, random = self._fate, self._fate.random
        if fate.strikes("repeat"):
            deliveries = [
                delivery for delivery in self._follow(Position()) if delivery.at.seq > after.seq - 3
            ] + deliveries
        if len(deliveries) > 1 and fate.strikes("skip"):
            at = random.randrange(len(deliveries))
            deliveries = deliveries[:at] + deliveries[at + 1 :]
        if fate.strikes("interleave"):
            deliveries = deliveries[1::2] + deliveries[::2]
        return deliveries
