"""OBSERVATIONS as the scheduler reads it: by position, and purged behind it."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Awaitable, Callable, Sequence

from tidegate.bus.headers import MESSAGE_ID
from tidegate.bus.jetstream.stall import Stall
from tidegate.bus.jetstream.wire.reader import StreamReader
from tidegate.bus.jetstream.wire.requests import JetStream, Outgoing
from tidegate.bus.streams import Names
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.messages.subjects import observed, resync
from tidegate.contracts.messages.trace import HEADER
from tidegate.contracts.observations import Probe
from tidegate.errors import BusRefusedError, BusUnreachableError

PROBES = "probes"
"""Stands where an object's resource stands in the subject of a probe."""
QUIET_S = 5.0
"""ingest publishes each second while it watches; after so long without a message one is probed."""


class NatsObservationReader:
    """``tidegate.bus.ports.ObservationReader`` over JetStream.

    A stream that is missing is made again. One that ends before the position, though it is the
    same incarnation, lost its tail in a crash of the server: sequences would be given out twice,
    so it is made anew, and the core sees another incarnation. So it is if it was filled again past
    the position by then: another message stands there. One that stores nothing is made anew, too:
    while no message comes, a probe is published now and then.
    """

    def __init__(self, js: JetStream, names: Names, ensure: Callable[[], Awaitable[None]]) -> None:
        self._js, self._names = js, names
        self._stall, self._answered_s = Stall(js, names.observations, ensure), math.inf
        self._reader = StreamReader(js, names.observations, fell_back=self._stall.replace)
        self._forgotten = Position()

    async def beginning(self) -> Position:
        """See ``tidegate.bus.ports.ObservationReader.beginning``."""
        info = await self._js.info(self._names.observations)
        if info is None or not info.state.last_seq:
            return Position()
        return Position(info.incarnation, info.state.last_seq)

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        """See ``tidegate.bus.ports.ObservationReader.pull``."""
        delivered = await self._reader.read(after, count_max, wait_s)
        await self._probe(answered=bool(delivered))
        return [
            Message(
                delivery.at,
                delivery.at_us,
                delivery.subject,
                delivery.payload,
                delivery.headers.get(HEADER, ""),
            )
            for delivery in delivered
        ]

    async def forget(self, position: Position) -> None:
        """See ``tidegate.bus.ports.ObservationReader.forget``; again it costs nothing."""
        if position in (self._forgotten, Position()):
            return
        info = await self._js.info(self._names.observations)
        if self._reader.doubts:
            return  # it may have lost its tail, and have others in those places by now
        same = info is not None and info.incarnation == position.incarnation
        # Purging beyond the end would move the end: what comes next would count as read. (That it
        # is made anew between the two shows as a gap: the position read last is not of that one.)
        if same and info is not None and info.state.last_seq >= position.seq:
            try:
                await self._js.purge(self._names.observations, position.seq + 1)
            except BusRefusedError as error:
                raise BusUnreachableError(str(error)) from error
        self._forgotten = position

    async def ask_resync(self, reason: str) -> None:
        """See ``tidegate.bus.ports.ObservationReader.ask_resync``; it is stored."""
        headers = {MESSAGE_ID: secrets.token_hex(8)}
        await self._js.store(Outgoing(resync(self._names.cluster), reason.encode(), headers))

    async def close(self) -> None:
        """Stop reading."""
        await self._reader.close()

    async def _probe(self, *, answered: bool) -> None:
        """Have the stream store a message if none came for a while; replace one that does not."""
        now_s = asyncio.get_running_loop().time()
        self._answered_s = min(self._answered_s, now_s)
        if not answered and now_s - self._answered_s < QUIET_S:
            return
        if answered or await self._stores():
            self._answered_s = now_s
            self._stall.answered()
        elif await self._stall.unanswered():
            await self._stall.replace()

    async def _stores(self) -> bool:
        subject = observed(self._names.cluster, PROBES, "", "")
        message = Outgoing(subject, encode(Probe()), {MESSAGE_ID: secrets.token_hex(8)})
        try:
            await self._js.store(message)
        except BusUnreachableError:
            return False
        except BusRefusedError:
            pass  # it is full, so it stores what there is room for
        return True
