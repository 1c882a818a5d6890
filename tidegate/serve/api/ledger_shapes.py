"""The forms of answers about the ledger itself: its events, and how far it got."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.serve.api.shapes import Answer


class Event(Answer, frozen=True, kw_only=True):
    """One event of the ledger."""

    partition: int  # whose ledger
    seq: int
    at: str
    type: str
    turn: int
    cluster_queue: str
    workload: str
    event: dict[str, Any]  # as docs/events.md has it
    position: str | msgspec.UnsetType = msgspec.UNSET  # behind it, of several partitions: 0=41,1=7


class PartitionLedger(Answer, frozen=True, kw_only=True):
    """The ledger of one of several partitions."""

    partition: int
    ledger_id: str
    cluster: str
    software: str
    head_seq: int
    head_hash: str
    head_at: str | None
    turns: int
    archived_seq: int
    snapshot_seq: int | None
    verified_seq: int  # up to here this server found every hash to fit the one before
    broken_seq: int | None  # the first event whose hash does not


class Ledger(Answer, frozen=True, kw_only=True):
    """The ledger's size and head; of several partitions the numbers are added up."""

    ledger_id: str
    cluster: str
    software: str
    head_seq: int
    head_hash: str  # of several partitions empty: each has its own
    head_at: str | None
    turns: int
    archived_seq: int
    snapshot_seq: int | None
    verified_seq: int  # up to here this server found every hash to fit the one before
    broken_seq: int | None  # the first event whose hash does not
    position: str | msgspec.UnsetType = msgspec.UNSET  # of several partitions: 0=41,1=7
    first_at: str | msgspec.UnsetType | None = msgspec.UNSET  # their first event's time
    partitions: list[PartitionLedger] | msgspec.UnsetType = msgspec.UNSET  # each, of several
