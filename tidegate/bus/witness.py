"""The ledger's head as the bus remembers it: what shows that a ledger's tail was cut off."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidegate.bus.headers import HASH, identity


class Witness(msgspec.Struct, frozen=True):
    """The newest entry that was published."""

    ledger_id: str
    seq: int
    hash: bytes  # of the entry, as the ledger's row has it


def witness_of(headers: Mapping[str, str]) -> Witness | None:
    """Return what a message of EVENTS testifies; None if it is not one of ours."""
    ledger_id, seq = identity(headers)
    return Witness(ledger_id, seq, bytes.fromhex(headers.get(HASH, ""))) if ledger_id else None
