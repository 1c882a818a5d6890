"""The ledger's head as the bus remembers it: what shows that a ledger's tail was cut off."""

from __future__ import annotations

import msgspec

from tidegate.bus.jetstream.events import prove_tail
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import StreamNames
from tidegate.contracts.entry import Position, Published

LOOKED_AT = 1_000
"""Of the newest messages, so many at least are asked whether they are the ledger's."""


class Witness(msgspec.Struct, frozen=True):
    """The newest entry that was published."""

    ledger_id: str
    seq: int
    hash: bytes  # of the entry, as the ledger's row has it
    forged: tuple[int, ...] = ()  # stream sequences of messages that no ledger wrote


async def newest_witness(js: JetStream, names: StreamNames) -> Witness | None:
    """Return the witness of the ledger's newest event; None if EVENTS holds none.

    Raises:
        BusUnreachableError: no answer, or there is no EVENTS.
    """
    forged = list[int]()

    def note(_one: Published, at: Position) -> None:
        forged.append(at.seq)

    proven = await prove_tail(js, names, note, LOOKED_AT)
    if not proven.ledger_id:
        return None
    return Witness(proven.ledger_id, proven.seq, proven.hash, tuple(sorted(forged)))
