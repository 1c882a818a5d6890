"""EVENTS as the scheduler writes it: every entry, in order, each fenced by its place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from tidegate.bus.headers import EXPECTED_SEQUENCE, event_headers, standing
from tidegate.bus.jetstream.stall import Stall
from tidegate.bus.jetstream.wire.requests import (
    CHAIN_BYTES_MAX,
    CHAIN_MESSAGES_MAX,
    WRONG_ID_CODE,
    WRONG_SEQUENCE_CODE,
    JetStream,
    Outgoing,
)
from tidegate.bus.streams import Names
from tidegate.contracts.entry import Entry, Position, Published
from tidegate.contracts.messages.trace import header, publishing_events
from tidegate.errors import BusRefusedError, BusUnreachableError, PublishRefusedError
from tidegate.model.texts import whole


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
