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


def entry_of(one: Published) -> Entry:
    """Return the row of a message.

    Raises:
        UndecodableError: its event is newer than this version knows.
    """
    decode(one.payload)
    row = row_of(one)
    if row is None:
        raise UndecodableError(f"The message on {one.subject} is no row of a ledger.")
    return row


def row_of(one: Published) -> Entry | None:
    """Return the row of a message, whatever its event says; None: it cannot be one."""
    try:
        _, cluster, _, kind, *_ = one.subject.split(".")
        return Entry(
            partition=PARTITION,
            seq=one.seq,
            epoch=one.epoch,
            turn=one.turn,
            at_us=_time.decode(one.payload).at_us,
            cluster=name_of(cluster),
            type=kind,
            subject=one.subject,
            payload=one.payload.decode(),
            hash=one.hash,
        )
    except (msgspec.DecodeError, ValueError):
        return None
