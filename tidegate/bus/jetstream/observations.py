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
from contextlib import suppress
from typing import NamedTuple

from tidegate.bus.headers import MESSAGE_ID
from tidegate.bus.jetstream.stall import StallDetector
from tidegate.bus.jetstream.wire.reader import StreamReader
from tidegate.bus.jetstream.wire.requests import (
    CHAIN_BYTES_MAX,
    FULL_CODES,
    JetStream,
    OutgoingMessage,
)
from tidegate.bus.streams import DUPLICATE_WINDOW_S, StreamNames
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.observations import Probe
from tidegate.contracts.subjects import (
    HEADER,
    observed_subject,
    publishing,
    resync_subject,
    trace_headers,
)
from tidegate.errors import BusRefusedError, BusUnreachableError

CHAIN_MESSAGES = 250
RETRY_S = 0.05
RETRY_S_MAX = 1.0
PROBES = "probes"
"""Stands where an object's resource stands in the subject of a probe."""
PROBED_LEASE = "probe"
"""No process takes a lease of that name."""
QUIET_S = 5.0
"""ingest publishes each second while it watches; after so long without a message one is probed."""


class _PendingMessage(NamedTuple):
    message: OutgoingMessage
    stored: asyncio.Future[None]


class NatsObservationPublisher:
    """``tidegate.bus.ports.ObservationPublisher`` over JetStream."""

    def __init__(self, js: JetStream, names: StreamNames, patience_s: float) -> None:
        assert patience_s < DUPLICATE_WINDOW_S, "a late retry would be stored twice"
        self._js, self._names, self._patience_s = js, names, patience_s
        self._waiting = deque[_PendingMessage]()
        self._sender: asyncio.Task[None] | None = None

    async def publish(self, subject: str, payload: bytes, message_id: str) -> None:
        """See ``tidegate.bus.ports.ObservationPublisher.publish``."""
        message = OutgoingMessage(
            subject, payload, {MESSAGE_ID: message_id, **trace_headers(publishing.get())}
        )
        item = _PendingMessage(message, asyncio.get_running_loop().create_future())
        self._waiting.append(item)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._store_waiting())
        await item.stored

    async def resync_requests(self) -> AsyncIterator[str]:
        """See ``tidegate.bus.ports.ObservationPublisher.resync_requests``."""
        reader = StreamReader(self._js, self._names.resyncs, resync_subject(self._names.cluster))
        came_back = asyncio.Event()
        unlisten = self._js.on_reconnect(came_back.set)
        try:
            at: Position | None = None
            while True:
                if came_back.is_set():
                    came_back.clear()
                    yield "the connection to NATS was lost and came back"
                try:
                    at = at or await self._newest_resync_position()
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

    async def _newest_resync_position(self) -> Position:
        info = await self._js.existing_stream(self._names.resyncs)
        return Position(info.incarnation, info.state.last_seq)

    async def _store_waiting(self) -> None:
        while self._waiting:
            items = self._next_batch()
            if len(items) < 2 or not await self._store_batch(items):  # noqa: PLR2004 - a chain
                for item in items:
                    await self._store_or_fail(item)

    def _next_batch(self) -> list[_PendingMessage]:
        items, size = list[_PendingMessage](), 0
        while self._waiting and len(items) < CHAIN_MESSAGES and size < CHAIN_BYTES_MAX:
            item = self._waiting.popleft()
            if not item.stored.done():  # its caller gave up
                items.append(item)
                size += len(item.message.payload)
        return items

    async def _store_batch(self, items: list[_PendingMessage]) -> bool:
        try:
            last = await self._js.publish_chain([item.message for item in items])
        except (BusRefusedError, BusUnreachableError):
            return False
        if last.duplicate:
            return False  # it was stored before: that says nothing of those before it in the chain
        for item in items:
            _mark_stored(item)
        return True

    async def _store_or_fail(self, item: _PendingMessage) -> None:
        try:
            await self._store_with_retries(item)
        except (BusUnreachableError, BusRefusedError) as error:
            if not item.stored.done():
                item.stored.set_exception(error)
        except asyncio.CancelledError:
            item.stored.cancel()
            raise
        else:
            _mark_stored(item)

    async def _store_with_retries(self, item: _PendingMessage) -> None:
        loop, delay_s = asyncio.get_running_loop(), RETRY_S
        patient_until = loop.time() + self._patience_s
        while not item.stored.done():
            try:
                await self._js.publish(item.message)
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


def _mark_stored(item: _PendingMessage) -> None:
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

    def __init__(
        self, js: JetStream, names: StreamNames, ensure: Callable[[], Awaitable[None]]
    ) -> None:
        self._js, self._names = js, names
        self._stall_detector, self._answered_s = (
            StallDetector(js, names.observations, ensure),
            math.inf,
        )
        self._reader = StreamReader(
            js, names.observations, on_lost_tail=self._stall_detector.recreate_stream
        )
        self._lease_detector = StallDetector(js, names.leases, ensure)
        self._resync_detector = StallDetector(js, names.resyncs, ensure)
        self._purged_through = Position()

    async def start_position(self) -> Position:
        """See ``tidegate.bus.ports.ObservationReader.start_position``."""
        info = await self._js.stream_info(self._names.observations)
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

    async def purge_through(self, position: Position) -> None:
        """See ``tidegate.bus.ports.ObservationReader.purge_through``; again it costs nothing."""
        if position in (self._purged_through, Position()):
            return
        info = await self._js.stream_info(self._names.observations)
        if self._reader.is_uncertain:
            return  # it may have lost its tail, and have others in those places by now
        same = info is not None and info.incarnation == position.incarnation
        # Purging beyond the end would move the end: what comes next would count as read. (That it
        # is made anew between the two shows as a gap: the position read last is not of that one.)
        if same and info is not None and info.state.last_seq >= position.seq:
            try:
                await self._js.purge_below(self._names.observations, position.seq + 1)
            except BusRefusedError as error:
                raise BusUnreachableError(str(error)) from error
        self._purged_through = position

    async def request_resync(self, reason: str) -> None:
        """See ``tidegate.bus.ports.ObservationReader.request_resync``; it is stored."""
        headers = {MESSAGE_ID: secrets.token_hex(8)}
        subject = resync_subject(self._names.cluster)
        try:
            await self._js.publish(OutgoingMessage(subject, reason.encode(), headers))
        except BusUnreachableError:
            if await self._resync_detector.record_timeout():
                await self._resync_detector.recreate_stream()
            raise
        self._resync_detector.record_answer()

    async def close(self) -> None:
        """Stop reading."""
        await self._reader.close()

    async def _probe(self, *, answered: bool) -> None:
        """Have the streams store a message if none came for a while; replace those that do not.

        Where the leases' stream stores nothing, no ingest is active, so nothing comes either.
        """
        now_s = asyncio.get_running_loop().time()
        self._answered_s = min(self._answered_s, now_s)
        if answered:
            self._answered_s = now_s
            self._stall_detector.record_answer()
        elif now_s - self._answered_s >= QUIET_S:
            if await self._stall_detector.probe(self._observation()):
                self._answered_s = now_s
            with suppress(BusUnreachableError):  # rights of an earlier version do not allow it
                await self._lease_detector.probe(self._free_lease())

    def _observation(self) -> OutgoingMessage:
        subject = observed_subject(self._names.cluster, PROBES, "", "")
        return OutgoingMessage(subject, encode(Probe()), {MESSAGE_ID: secrets.token_hex(8)})

    def _free_lease(self) -> OutgoingMessage:
        return OutgoingMessage(self._names.lease_subject + PROBED_LEASE, b"", {"Nats-TTL": "1s"})
