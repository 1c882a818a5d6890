"""Messages of EVENTS as the rows that they were published from."""

from __future__ import annotations

from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry, Published
from tidegate.contracts.subjects import name_of

PARTITION = 0
"""A stream holds the events of one partition."""


def entry_of(one: Published) -> Entry:
    """Return the row of a message.

    Raises:
        UndecodableError: its event is newer than this version knows.
    """
    _, cluster, _, kind, *_ = one.subject.split(".")
    return Entry(
        partition=PARTITION,
        seq=one.seq,
        epoch=one.epoch,
        turn=one.turn,
        at_us=decode(one.payload).at_us,
        cluster=name_of(cluster),
        type=kind,
        subject=one.subject,
        payload=one.payload.decode(),
        hash=one.hash,
    )
