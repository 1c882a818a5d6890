"""Messages of EVENTS as the rows that they were published from."""

from __future__ import annotations

import msgspec

from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry, Published
from tidegate.contracts.messages.subjects import name_of
from tidegate.errors import UndecodableError

PARTITION = 0
"""A stream holds the events of one partition."""


class _Time(msgspec.Struct, frozen=True):
    """The field that every event has."""

    at_us: int


_time = msgspec.json.Decoder(_Time)


def entry_of(message: Published) -> Entry:
    """Return the row of a message.

    Raises:
        UndecodableError: its event is newer than this version knows.
    """
    decode(message.payload)
    row = row_of(message)
    if row is None:
        raise UndecodableError(f"The message on {message.subject} is no row of a ledger.")
    return row


def row_of(message: Published) -> Entry | None:
    """Return the row of a message, with any event; None: it cannot be one."""
    try:
        _, cluster, _, kind, *_ = message.subject.split(".")
        return Entry(
            partition=PARTITION,
            seq=message.seq,
            epoch=message.epoch,
            turn=message.turn,
            at_us=_time.decode(message.payload).at_us,
            cluster=name_of(cluster),
            type=kind,
            subject=message.subject,
            payload=message.payload.decode(),
            hash=message.hash,
        )
    except (msgspec.DecodeError, ValueError):
        return None
