"""EVENTS: as the scheduler writes it, each entry fenced by its place, and as subscribers read it.

They read by ledger seq, in order, over reconnections; which of the newest messages are the ledger's
is proven by what is before them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence

from tidegate.bus.headers import EXPECTED_SEQUENCE, event_headers, identity, published, standing
from tidegate.bus.jetstream.keys import NatsRegister
from tidegate.bus.jetstream.stall import Stall
from tidegate.bus.jetstream.wire.reader import Delivered, StreamReader
from tidegate.bus.jetstream.wire.requests import (
    CHAIN_BYTES_MAX,
    CHAIN_MESSAGES_MAX,
    WRONG_ID_CODE,
    WRONG_SEQUENCE_CODE,
    JetStream,
    Outgoing,
    StreamInfo,
)
from tidegate.bus.provenance import Forged, Once, Provenance, unnoticed
from tidegate.bus.streams import Names
from tidegate.contracts.entry import Entry, Position, Published
from tidegate.contracts.subjects import header, publishing_events
from tidegate.errors import BusRefusedError, BusUnreachableError, PublishRefusedError
from tidegate.model.texts import whole

WINDOW_FIRST, WINDOW_GROWS = 64, 16
_TAIL_READ_S, PATIENCE_S = 1.0, 15.0
READ_MESSAGES = 1_000
READ_S = 30.0
RETRY_S = 0.5


class NatsEventPublisher:
    """``tidegate.bus.ports.EventPublisher`` over JetStream.

    A stream that is missing is made again, and one that stores nothing anew: the ledger fills it.
    """

    def __init__(self, js: JetStream, names: Names, ensure: Callable[[], Awaitable[None]]) -> None:
        self._js, self._stream, self._ensure = js, names.events, ensure
        self._stall = Stall(js, names.events, ensure)

    async def last(self, position: Position) -> tuple[int, Position]:
        """See ``tidegate.bus.ports.EventPublisher.last``."""
        info = await self._js.info(self._stream)
        if info is None:
            await self._ensure()
            info = await self._js.existing(self._stream)
        if position.incarnation in (0, info.incarnation):
            return info.state.last_seq - position.seq, Position(info.incarnation, position.seq)
        return info.state.last_seq, Position(info.incarnation, 0)

    async def held(self, counts: Position, seq: int) -> Published | None:
        """See ``tidegate.bus.ports.EventPublisher.held``."""
        message = await self._js.stored_at(self._stream, seq + counts.seq)
        if message is None:
            return None
        headers = message.headers or {}
        return standing(headers, headers.get("Nats-Subject", ""), message.data)

    async def count(self) -> int:
        """See ``tidegate.bus.ports.EventPublisher.count``."""
        info = await self._js.info(self._stream)
        return 0 if info is None else info.state.messages

    async def publish(self, ledger_id: str, counts: Position, entries: Sequence[Entry]) -> None:
        """See ``tidegate.bus.ports.EventPublisher.publish``."""
        for chain in _chains(entries):
            messages = [_message(ledger_id, entry, counts) for entry in chain]
            try:
                stored = await self._js.store_chain(messages)
            except BusRefusedError as error:
                self._stall.answered()
                raise _refusal(chain[-1].seq - 1, counts, error) from error
            except BusUnreachableError:
                if await self._stall.unanswered():
                    await self._stall.replace()
                raise
            self._stall.answered()
            if stored.duplicate or stored.seq != chain[-1].seq + counts.seq:
                raise PublishRefusedError(chain[-1].seq - 1, stored.seq - counts.seq)


def _message(ledger_id: str, entry: Entry, counts: Position) -> Outgoing:
    headers = event_headers(ledger_id, entry, counts)
    headers[EXPECTED_SEQUENCE] = str(entry.seq - 1 + counts.seq)
    headers |= header(publishing_events.get().get(entry.seq, ""))
    return Outgoing(entry.subject, entry.payload.encode(), headers)


def _chains(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    start, size = 0, 0
    for place, entry in enumerate(entries):
        size += len(entry.payload)
        if place > start and (size > CHAIN_BYTES_MAX or place - start >= CHAIN_MESSAGES_MAX):
            yield entries[start:place]
            start, size = place, len(entry.payload)
    if start < len(entries):
        yield entries[start:]


def _refusal(expected: int, counts: Position, error: BusRefusedError) -> Exception:
    if error.code in (WRONG_ID_CODE, WRONG_SEQUENCE_CODE):
        end = error.description.rpartition(" ")[2]
        end_seq = whole(end)
        actual = error.description if end_seq is None else end_seq - counts.seq
        return PublishRefusedError(expected, actual)
    return BusUnreachableError(str(error))


async def prove_tail(
    js: JetStream, names: Names, forged: Forged = unnoticed, count: int = WINDOW_FIRST
) -> Provenance:
    """Read the newest messages, as many as prove an entry, and return what follows from them.

    ``forged`` hears of those that are not the ledger's. Nothing is proven where EVENTS is empty:
    then the seq is 0.

    Raises:
        BusUnreachableError: no answer, or not all of them came, or there is no EVENTS.
    """
    register = NatsRegister(js, names, 0)
    while True:
        info = await js.existing(names.events)
        unproven = list[tuple[Published, Position]]()
        proven = Provenance(lambda event, at: unproven.append((event, at)))  # noqa: B023 - used in this round
        for message in await _newest(js, names, info, count):
            await taken(register, proven, message)
        proven.end()
        if proven.chained or count >= info.state.messages:
            for doubted, at in unproven:
                forged(doubted, at)
            return proven
        count *= WINDOW_GROWS


async def taken(
    register: NatsRegister, proven: Provenance, message: Delivered
) -> tuple[Published, ...]:
    """Return the entries to deliver once a message was read; see ``Provenance.take``.

    Another ledger than the one that the register names cannot follow it.

    Raises:
        BusUnreachableError: the register does not answer.
    """
    event = published(message.headers, message.subject, message.payload)
    if event is None:
        proven.pass_by(message.at)
        return ()
    other = proven.ledger_id and event.ledger_id != proven.ledger_id
    if other and await register.read(register.ledger_key) == proven.ledger_id:
        proven.refuse(event, message.at)
        return ()
    return proven.take(event, message.at)


async def find_place(js: JetStream, stream: str, after: int, tail: Provenance) -> int:
    """Return the stream sequence of a ledger seq; 0: it is before whatever is held.

    How far stream sequences are ahead of the ledger's only grows, with each forged message and
    each time that EVENTS was filled again. So it is looked for backwards from the newest.

    Raises:
        BusUnreachableError: no answer.
    """
    place = max(0, after + tail.counts) if after else 0
    while place > 0 and (stored := await js.stored_at(stream, place)) is not None:
        ledger_id, seq = identity(stored.headers or {})
        if ledger_id == tail.ledger_id and seq == after:
            break
        ahead = seq - after if ledger_id == tail.ledger_id else 1
        place = max(0, place - max(ahead, 1))
    return place


async def _newest(js: JetStream, names: Names, info: StreamInfo, count: int) -> list[Delivered]:
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
            elif await js.stored_at(names.events, end) is None:
                break  # what was the newest is held no more
            elif loop.time() > patient_until:  # a busy machine alone delays them by seconds
                raise BusUnreachableError("The newest messages of EVENTS do not come.")
    finally:
        await reader.close()
    return [delivery for delivery in deliveries if delivery.at.seq <= end]


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
