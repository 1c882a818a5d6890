"""EVENTS: as the scheduler writes it, each entry fenced by its place, and as subscribers read it.

They read by ledger seq, in order, over reconnections; which of the newest messages are the ledger's
is proven by what is before them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence

from tidegate.bus.headers import (
    EXPECTED_SEQUENCE,
    event_headers,
    ledger_id_and_seq,
    parse_event,
    parse_message,
)
from tidegate.bus.jetstream.keys import NatsRegister
from tidegate.bus.jetstream.stall import StallDetector
from tidegate.bus.jetstream.wire.reader import Delivered, StreamReader
from tidegate.bus.jetstream.wire.requests import (
    CHAIN_BYTES_MAX,
    CHAIN_MESSAGES_MAX,
    WRONG_ID_CODE,
    WRONG_SEQUENCE_CODE,
    JetStream,
    OutgoingMessage,
    StreamInfo,
)
from tidegate.bus.provenance import EntryDeduplicator, OnForged, Provenance, ignore_forged
from tidegate.bus.streams import StreamNames
from tidegate.contracts.entry import Entry, Position, Published
from tidegate.contracts.subjects import publishing_events, trace_headers
from tidegate.errors import BusRefusedError, BusUnreachableError, PublishRefusedError
from tidegate.model.texts import parse_whole

WINDOW_FIRST, WINDOW_GROWS = 64, 16
_TAIL_READ_S, PATIENCE_S = 1.0, 15.0
READ_MESSAGES = 1_000
READ_S = 30.0
RETRY_S = 0.5


class NatsEventPublisher:
    """``tidegate.bus.ports.EventPublisher`` over JetStream.

    A stream that is missing is made again, and one that stores nothing anew: the ledger fills it.
    """

    def __init__(
        self, js: JetStream, names: StreamNames, ensure: Callable[[], Awaitable[None]]
    ) -> None:
        self._js, self._stream, self._recreate = js, names.events, ensure
        self._stall_detector = StallDetector(js, names.events, ensure)

    async def last_published(self, position: Position) -> tuple[int, Position]:
        """See ``tidegate.bus.ports.EventPublisher.last_published``."""
        info = await self._js.stream_info(self._stream)
        if info is None:
            await self._recreate()
            info = await self._js.existing_stream(self._stream)
        if position.incarnation in (0, info.incarnation):
            return info.state.last_seq - position.seq, Position(info.incarnation, position.seq)
        return info.state.last_seq, Position(info.incarnation, 0)

    async def message_at(self, counts: Position, seq: int) -> Published | None:
        """See ``tidegate.bus.ports.EventPublisher.message_at``."""
        message = await self._js.message_at(self._stream, seq + counts.seq)
        if message is None:
            return None
        headers = message.headers or {}
        return parse_message(headers, headers.get("Nats-Subject", ""), message.data)

    async def message_count(self) -> int:
        """See ``tidegate.bus.ports.EventPublisher.message_count``."""
        info = await self._js.stream_info(self._stream)
        return 0 if info is None else info.state.messages

    async def publish(self, ledger_id: str, counts: Position, entries: Sequence[Entry]) -> None:
        """See ``tidegate.bus.ports.EventPublisher.publish``."""
        for chain in _split_into_chains(entries):
            messages = [_message(ledger_id, entry, counts) for entry in chain]
            try:
                stored = await self._js.publish_chain(messages)
            except BusRefusedError as error:
                self._stall_detector.record_answer()
                raise _publish_error(chain[-1].seq - 1, counts, error) from error
            except BusUnreachableError:
                if await self._stall_detector.record_timeout():
                    await self._stall_detector.recreate_stream()
                raise
            self._stall_detector.record_answer()
            if stored.duplicate or stored.seq != chain[-1].seq + counts.seq:
                raise PublishRefusedError(chain[-1].seq - 1, stored.seq - counts.seq)


def _message(ledger_id: str, entry: Entry, counts: Position) -> OutgoingMessage:
    headers = event_headers(ledger_id, entry, counts)
    headers[EXPECTED_SEQUENCE] = str(entry.seq - 1 + counts.seq)
    headers |= trace_headers(publishing_events.get().get(entry.seq, ""))
    return OutgoingMessage(entry.subject, entry.payload.encode(), headers)


def _split_into_chains(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    start, size = 0, 0
    for place, entry in enumerate(entries):
        size += len(entry.payload)
        if place > start and (size > CHAIN_BYTES_MAX or place - start >= CHAIN_MESSAGES_MAX):
            yield entries[start:place]
            start, size = place, len(entry.payload)
    if start < len(entries):
        yield entries[start:]


def _publish_error(expected: int, counts: Position, error: BusRefusedError) -> Exception:
    if error.code in (WRONG_ID_CODE, WRONG_SEQUENCE_CODE):
        end = error.description.rpartition(" ")[2]
        end_seq = parse_whole(end)
        actual = error.description if end_seq is None else end_seq - counts.seq
        return PublishRefusedError(expected, actual)
    return BusUnreachableError(str(error))


async def prove_tail(
    js: JetStream,
    names: StreamNames,
    on_forged: OnForged = ignore_forged,
    count: int = WINDOW_FIRST,
) -> Provenance:
    """Read the newest messages, as many as prove an entry, and return what follows from them.

    ``on_forged`` hears of those that are not the ledger's. Nothing is proven where EVENTS is empty:
    then the seq is 0.

    Raises:
        BusUnreachableError: no answer, or not all of them came, or there is no EVENTS.
    """
    register = NatsRegister(js, names, 0)
    while True:
        info = await js.existing_stream(names.events)
        unproven = list[tuple[Published, Position]]()
        proven = Provenance(lambda event, at: unproven.append((event, at)))  # noqa: B023 - used in this round
        for message in await _newest_messages(js, names, info, count):
            await entries_to_deliver(register, proven, message)
        proven.reject_suspect()
        if proven.chained or count >= info.state.messages:
            for doubted, at in unproven:
                on_forged(doubted, at)
            return proven
        count *= WINDOW_GROWS


async def entries_to_deliver(
    register: NatsRegister, proven: Provenance, message: Delivered
) -> tuple[Published, ...]:
    """Return the entries to deliver once a message was read; see ``Provenance.verify``.

    Another ledger than the one that the register names cannot follow it.

    Raises:
        BusUnreachableError: the register does not answer.
    """
    event = parse_event(message.headers, message.subject, message.payload)
    if event is None:
        proven.skip(message.at)
        return ()
    other = proven.ledger_id and event.ledger_id != proven.ledger_id
    if other and await register.read(register.ledger_key) == proven.ledger_id:
        proven.reject(event, message.at)
        return ()
    return proven.verify(event, message.at)


async def stream_seq_of(js: JetStream, stream: str, after: int, tail: Provenance) -> int:
    """Return the stream sequence of a ledger seq; 0: it is before whatever is held.

    How far stream sequences are ahead of the ledger's only grows, with each forged message and
    each time that EVENTS was filled again. So it is looked for backwards from the newest.

    Raises:
        BusUnreachableError: no answer.
    """
    place = max(0, after + tail.sequence_offset) if after else 0
    while place > 0 and (stored := await js.message_at(stream, place)) is not None:
        ledger_id, seq = ledger_id_and_seq(stored.headers or {})
        if ledger_id == tail.ledger_id and seq == after:
            break
        ahead = seq - after if ledger_id == tail.ledger_id else 1
        place = max(0, place - max(ahead, 1))
    return place


async def _newest_messages(
    js: JetStream, names: StreamNames, info: StreamInfo, count: int
) -> list[Delivered]:
    end, deliveries = info.state.last_seq, list[Delivered]()
    if not info.state.messages:
        return deliveries
    reader = StreamReader(js, names.events)
    at, loop = Position(info.incarnation, max(0, end - count)), asyncio.get_running_loop()
    patient_until = loop.time() + PATIENCE_S
    try:
        while at.seq < end:
            more = await reader.read(at, count, _TAIL_READ_S)
            if more:
                deliveries += more
                at = more[-1].at
            elif await js.message_at(names.events, end) is None:
                break  # what was the newest is held no more
            elif loop.time() > patient_until:  # a busy machine alone delays them by seconds
                raise BusUnreachableError("The newest messages of EVENTS do not come.")
    finally:
        await reader.close()
    return [delivery for delivery in deliveries if delivery.at.seq <= end]


class NatsEventFeed:
    """``tidegate.bus.ports.EventFeed`` over JetStream.

    ``subject`` narrows what is read. Then nothing is proven: an entry's hash follows from the one
    before it, which is not read. ``on_forged`` hears of messages that are not the ledger's.
    """

    def __init__(
        self,
        js: JetStream,
        names: StreamNames,
        patience_s: float,
        subject: str = "",
        forged: OnForged = ignore_forged,
    ) -> None:
        self._js, self._names = js, names
        self._patience_s, self._subject = patience_s, subject
        self._register, self._on_forged = NatsRegister(js, names, patience_s), forged
        self._provenance = Provenance()  # up to the newest entry of any follower

    async def newest(self) -> tuple[str, int]:
        """See ``tidegate.bus.ports.EventFeed.newest``."""
        message = await self._js.newest_message(
            self._names.events, self._subject or self._names.event_subjects
        )
        if message is None:
            return "", 0
        headers = message.headers or {}
        event = parse_message(headers, headers.get("Nats-Subject", ""), message.data)
        if self._subject or self._provenance.is_known(event):
            return event.ledger_id, event.seq
        proven = await prove_tail(self._js, self._names)
        return proven.ledger_id, proven.seq

    async def follow(self, after: int | None = None) -> AsyncGenerator[Published, None]:
        """See ``tidegate.bus.ports.EventFeed.follow``."""
        loop = asyncio.get_running_loop()
        reader = StreamReader(self._js, self._names.events, self._subject)
        at, patient_until = None, loop.time() + self._patience_s
        once, proven = EntryDeduplicator(), Provenance(self._on_forged)
        try:
            while True:
                try:
                    at = at or await self._start_position(after, proven)
                    deliveries = await reader.read(at, READ_MESSAGES, READ_S)
                    for message in deliveries:
                        for event in await self._entries_to_deliver(message, once, proven):
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

    async def _entries_to_deliver(
        self, message: Delivered, once: EntryDeduplicator, proven: Provenance
    ) -> tuple[Published, ...]:
        if not self._subject:
            events = await entries_to_deliver(self._register, proven, message)
            self._provenance = proven
            return events
        event = parse_event(message.headers, message.subject, message.payload)
        return (event,) if event is not None and once.is_new(event) else ()

    async def _start_position(self, after: int | None, proven: Provenance) -> Position:
        """Return where to begin in the stream; what is behind it is proven by what is before."""
        info = await self._js.existing_stream(self._names.events)
        end = info.state.last_seq
        if not info.state.messages:
            return Position(info.incarnation, end)
        tail = await prove_tail(self._js, self._names)
        if after is None:
            proven.start_from(tail.seq, tail)
            return Position(info.incarnation, end)
        same = self._provenance.ledger_id == tail.ledger_id
        if not (same and proven.start_from(after, self._provenance)):
            proven.start_from(after, tail)
        place = await stream_seq_of(self._js, self._names.events, after, tail)
        return Position(info.incarnation, min(place, end))
