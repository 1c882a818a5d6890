"""OBSERVATIONS: as ingest and actuator write it, in order, and as the scheduler reads it.

Calls that wait at the same time are stored as one chain, each message on the condition that the
one before is the stream's newest: one round trip. What a chain cannot settle (no room for all of
it, another client's message in between, a retry whose first answer was lost) is settled one message
at a time, in order; their ids keep what was stored already from being stored twice.

It is read by position, and purged behind it.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple

from tidegate.bus.headers import MESSAGE_ID
from tidegate.bus.jetstream.stall import Stall
from tidegate.bus.jetstream.wire.reader import StreamReader
from tidegate.bus.jetstream.wire.requests import CHAIN_BYTES_MAX, FULL_CODES, JetStream, Outgoing
from tidegate.bus.streams import DUPLICATE_WINDOW_S, Names
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.observations import Probe
from tidegate.contracts.subjects import HEADER, header, observed, publishing, resync
from tidegate.errors import BusRefusedError, BusUnreachableError

CHAIN_MESSAGES = 250
RETRY_S = 0.05
RETRY_S_MAX = 1.0
PROBES = "probes"
"""Stands where an object's resource stands in the subject of a probe."""
QUIET_S = 5.0
"""ingest publishes each second while it watches; after so long without a message one is probed."""


class _Item(NamedTuple):
    message: Outgoing
    stored: asyncio.Future[None]


class NatsObservationPublisher:
    """``tidegate.bus.ports.ObservationPublisher`` over JetStream."""

    def __init__(self, js: JetStream, names: Names, patience_s: float) -> None:
        assert patience_s < DUPLICATE_WINDOW_S, "a late retry would be stored twice"
        self._js, self._names, self._patience_s = js, names, patience_s
        self._waiting = deque[_Item]()
        self._sender: asyncio.Task[None] | None = None

    async def publish(self, subject: str, payload: bytes, message_id: str) -> None:
        """See ``tidegate.bus.ports.ObservationPublisher.publish``."""
        message = Outgoing(subject, payload, {MESSAGE_ID: message_id, **header(publishing.get())})
        item = _Item(message, asyncio.get_running_loop().create_future())
        self._waiting.append(item)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())
        await item.stored

    async def resyncs(self) -> AsyncIterator[str]:
        """See ``tidegate.bus.ports.ObservationPublisher.resyncs``."""
        reader = StreamReader(self._js, self._names.resyncs, resync(self._names.cluster))
        came_back = asyncio.Event()
        unlisten = self._js.listen(came_back.set)
        try:
            at: Position | None = None
            while True:
                if came_back.is_set():
                    came_back.clear()
                    yield "the connection to NATS was lost and came back"
                try:
                    at = at or await self._end_of_resyncs()
                    delivered = await reader.read(at, 64, 60.0)
                except BusUnreachableError:
                    at = at or Position()  # later requests come with all that is kept
                    await asyncio.sleep(RETRY_S_MAX)
                    continue
                for message in delivered:
                    at = message.at
                    yield message.payload.decode(errors="replace")
        finally:
            unlisten()
            await reader.close()

    async def close(self) -> None:
        """Give up what was not stored yet; its callers see a cancellation."""
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.wait({self._sender})
        for item in self._waiting:
            item.stored.cancel()

    async def _end_of_resyncs(self) -> Position:
        info = await self._js.existing(self._names.resyncs)
        return Position(info.incarnation, info.state.last_seq)

    async def _send(self) -> None:
        while self._waiting:
            items = self._next_items()
            if len(items) < 2 or not await self._stored_together(items):  # noqa: PLR2004 - a chain
                for item in items:
                    await self._settle(item)

    def _next_items(self) -> list[_Item]:
        items, size = list[_Item](), 0
        while self._waiting and len(items) < CHAIN_MESSAGES and size < CHAIN_BYTES_MAX:
            item = self._waiting.popleft()
            if not item.stored.done():  # its caller gave up
                items.append(item)
                size += len(item.message.payload)
        return items

    async def _stored_together(self, items: list[_Item]) -> bool:
        try:
            last = await self._js.store_chain([item.message for item in items])
        except (BusRefusedError, BusUnreachableError):
            return False
        if last.duplicate:
            return False  # it was stored before: that says nothing of those before it in the chain
        for item in items:
            _fulfil(item)
        return True

    async def _settle(self, item: _Item) -> None:
        try:
            await self._store(item)
        except (BusUnreachableError, BusRefusedError) as error:
            if not item.stored.done():
                item.stored.set_exception(error)
        except asyncio.CancelledError:
            item.stored.cancel()
            raise
        else:
            _fulfil(item)

    async def _store(self, item: _Item) -> None:
        loop, delay_s = asyncio.get_running_loop(), RETRY_S
        patient_until = loop.time() + self._patience_s
        while not item.stored.done():
            try:
                await self._js.store(item.message)
            except BusRefusedError as error:
                if error.code not in FULL_CODES:
                    raise
                patient_until = loop.time() + self._patience_s  # full: it waits for room
            except BusUnreachableError:
                if loop.time() > patient_until:
                    raise
            else:
                return
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, RETRY_S_MAX)


def _fulfil(item: _Item) -> None:
    if not item.stored.done():
        item.stored.set_result(None)


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
