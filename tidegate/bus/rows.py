"""Messages of EVENTS as the rows that they were published from."""

from __future__ import annotations

import msgspec

from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry, Published
from tidegate.contracts.messages.subjects import name_of
from tidegate.errors import UndecodableError
from tidegate.model.ids import PARTITION_MAX
from tidegate.model.texts import whole


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
        partition, cluster, kind = _parts(message.subject)
        return Entry(
            partition=partition,
            seq=message.seq,
            epoch=message.epoch,
            turn=message.turn,
            at_us=_time.decode(message.payload).at_us,
            cluster=cluster,
            type=kind,
            subject=message.subject,
            payload=message.payload.decode(),
            hash=message.hash,
        )
    except (msgspec.DecodeError, ValueError):
        return None


def _parts(subject: str) -> tuple[int, str, str]:
    """Return whose partition's event a subject names, its cluster and type.

    Raises:
        ValueError: it is no event's.
    """
    _, cluster, *rest = subject.split(".")
    partition: int | None = 0
    if rest[:1] == ["partition"]:
        _, number, *rest = rest
        partition = whole(number, PARTITION_MAX)
    _, kind, *_ = rest
    if partition is None:
        raise ValueError(subject)
    return partition, name_of(cluster), kind
