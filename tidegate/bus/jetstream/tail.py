"""The newest messages of EVENTS, and which of them are the ledger's."""

from __future__ import annotations

import asyncio

from tidegate.bus.headers import identity, published
from tidegate.bus.jetstream.register import NatsRegister
from tidegate.bus.jetstream.wire.reader import Delivered, StreamReader
from tidegate.bus.jetstream.wire.requests import JetStream, StreamInfo
from tidegate.bus.provenance import Forged, Provenance, unnoticed
from tidegate.bus.streams import Names
from tidegate.contracts.entry import Position, Published
from tidegate.errors import BusUnreachableError

WINDOW_FIRST, WINDOW_GROWS = 64, 16
READ_S, PATIENCE_S = 1.0, 15.0


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
            more = await reader.read(at, count, READ_S)
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
