"""Positions of messages in NATS streams, rows of the ledger, and a writer's term."""

from __future__ import annotations

import msgspec


class Position(msgspec.Struct, frozen=True):
    """A position in a stream: a recreated stream counts from 1 again, so a number is not enough."""

    incarnation: int = 0  # the stream's creation, UTC microseconds; 0 before the first message
    seq: int = 0  # from 1; 0 before the first message


class Message(msgspec.Struct, frozen=True):
    """An observation as NATS delivers it."""

    at: Position
    at_us: int  # NATS' timestamp, UTC microseconds
    subject: str
    payload: bytes
    trace: str = ""  # W3C trace context of its sender; decisions never depend on it


class Entry(msgspec.Struct, frozen=True):
    """One row of the ledger; its hash seals every other field, in this order."""

    partition: int  # of the ledger
    seq: int  # place in the ledger, from 1, without gaps
    epoch: int  # of the leader's term; never falls
    turn: int  # the number of the scheduler's turn, from 1: replay decides in the same turns
    at_us: int  # as in the payload
    cluster: str
    type: str  # the event's name, without the version
    subject: str  # where it is published
    payload: str  # the event's JSON, letter for letter as first written
    hash: bytes  # SHA-256, 32 bytes; see ``tidegate.contracts.chain``


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A writer's term as the ledger granted it."""

    epoch: int  # from 1; a newer one fences this one out
    observations: Position  # the committed position in OBSERVATIONS
    events: Position  # EVENTS: its incarnation, and stream sequence minus ledger seq
    members: dict[str, Position] = {}  # as ``observations``, by member cluster


class Positions(msgspec.Struct, frozen=True, kw_only=True):
    """Positions that a transaction stores beside the entries; None: unchanged."""

    observations: Position | None = None
    events: Position | None = None
    members: dict[str, Position] = {}  # OBSERVATIONS of those member clusters that moved


class Published(msgspec.Struct, frozen=True):
    """An entry as a subscriber of EVENTS gets it."""

    ledger_id: str
    seq: int  # in the ledger; EVENTS may begin after 1
    subject: str
    payload: bytes  # the event's JSON
    epoch: int = 0  # this and the next two as in the ledger's row; 0, 0, b"": not in the message
    turn: int = 0
    hash: bytes = b""
    trace: str = ""  # W3C trace context of the decision; empty: none


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A state as bytes, and its position in the ledger."""

    seq: int  # of the newest event folded in
    version: int  # of the bytes' form
    state: bytes
    head: bytes  # hash of the entry at that seq
