"""Where a message stands on the bus, what a row of the ledger is, and what a writer is granted."""

from __future__ import annotations

import msgspec


class Position(msgspec.Struct, frozen=True):
    """A place in a stream: a recreated stream counts from 1 again, so a number alone lies."""

    incarnation: int = 0  # the stream's creation, UTC microseconds; 0 before the first message
    seq: int = 0  # from 1; 0 before the first message


class Message(msgspec.Struct, frozen=True):
    """An observation as the bus delivers it."""

    at: Position
    at_us: int  # the bus's timestamp, UTC microseconds
    subject: str
    payload: bytes
    trace: str = ""  # W3C trace context of its sender; decisions never see it


class Entry(msgspec.Struct, frozen=True):
    """One row of the ledger; its hash seals every other field, in this order."""

    partition: int  # of the ledger
    seq: int  # place in the ledger, from 1, without gaps
    epoch: int  # of the leader's term; never falls
    turn: int  # which turn of the scheduler wrote it, from 1: replay decides at the same turns
    at_us: int  # as in the payload
    cluster: str
    type: str  # the event's name, without the version
    subject: str  # where it is published
    payload: str  # the event's JSON, letter for letter as first written
    hash: bytes  # SHA-256, 32 bytes; see ``tidegate.contracts.chain``


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A writer's term as the ledger granted it."""

    epoch: int  # from 1; a newer one fences this one out
    observations: Position  # what is committed of OBSERVATIONS
    events: Position  # EVENTS: its incarnation, and stream sequence minus ledger seq
    members: dict[str, Position] = {}  # as ``observations``, by member cluster


class Positions(msgspec.Struct, frozen=True, kw_only=True):
    """What a transaction moves beside the entries; None stays as it is."""

    observations: Position | None = None
    events: Position | None = None
    members: dict[str, Position] = {}  # OBSERVATIONS of those member clusters that moved


class Published(msgspec.Struct, frozen=True):
    """An entry as a subscriber of EVENTS gets it."""

    ledger_id: str
    seq: int  # in the ledger; what was retained may begin after 1
    subject: str
    payload: bytes  # the event's JSON
    epoch: int = 0  # as in the ledger's row, as are the next two; 0, 0, b"": it does not say
    turn: int = 0
    hash: bytes = b""
    trace: str = ""  # W3C trace context of the decision; empty: none


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A state as bytes, and where in the history it stands."""

    seq: int  # of the newest event folded in
    version: int  # of the bytes' form
    state: bytes
    head: bytes  # hash of the entry at that seq
