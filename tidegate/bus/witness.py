"""The ledger's head as the bus remembers it: what shows that a ledger's tail was cut off."""

from __future__ import annotations

import msgspec

from tidegate.bus.headers import HASH, identity
from tidegate.bus.jetstream.requests import JetStream
from tidegate.bus.streams import Names


class Witness(msgspec.Struct, frozen=True):
    """The newest entry that was published."""

    ledger_id: str
    seq: int
    hash: bytes  # of the entry, as the ledger's row has it


async def newest_witness(js: JetStream, names: Names) -> Witness | None:
    """Return what the newest event still held testifies; None if there is none, or it is not ours.

    Raises:
        BusUnreachableError: no answer.
    """
    found = await js.newest(names.events, names.event_subjects)
    headers = {} if found is None else found.headers or {}
    ledger_id, seq = identity(headers)
    return Witness(ledger_id, seq, bytes.fromhex(headers.get(HASH, ""))) if ledger_id else None
