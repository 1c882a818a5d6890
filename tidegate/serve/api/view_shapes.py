"""The forms of answers of the page's views and of the ledger itself, beside those of ``shapes``."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.serve.api.shapes import Answer


class Running(Answer, frozen=True, kw_only=True):
    """A workload that has quota."""

    workload: str
    namespace: str
    cluster_queue: str
    local_queue: str
    author: str
    priority: int
    phase: str  # reserved, admitted or evicting
    since: str  # when its quota was reserved
    amounts: dict[str, dict[str, str]]  # flavor to resource to quantity


class Cost(Answer, frozen=True, kw_only=True):
    """A namespace's usage of a queue, flavor and resource in a month, in full hours."""

    month: str
    until: str  # the end of the last hour that is counted
    namespace: str
    cluster_queue: str
    flavor: str
    resource: str
    unit_hours: float  # core hours, byte hours or device hours
    per_unit_hour: float | None  # none: no price was set
    cost: float | None
    currency: str | None


class QuotaUse(Answer, frozen=True, kw_only=True):
    """A ClusterQueue's quota and usage of a flavor and resource in a month, in unit hours."""

    month: str
    until: str
    cluster_queue: str
    flavor: str
    resource: str
    nominal_hours: float
    used_hours: float
    borrowed_hours: float  # of that, above nominal at each moment
    unused_hours: float  # nominal that its own workloads did not use: idle, or lent


class Budget(Answer, frozen=True, kw_only=True):
    """So many hours of a resource in a period, and what is spent of them."""

    owner: str  # ClusterQueue/team-a or Cohort/research
    resource: str
    period: str
    budget_hours: str
    spent_hours: str
    percent: int | None
    usage: str  # now
    spent_at: str | None  # when all of it is, if usage stays as it is now
    ends_at: str
    kind: str  # soft, hard, or hard and spent
    since: str
    at_end_as_now: str | None
    at_end_as_so_far: str | None


class Place(Answer, frozen=True, kw_only=True):
    """A domain of a topology: a block, a rack or a node."""

    topology: str
    flavor: str
    depth: int
    name: str
    level: str
    nodes: int  # that pods may be placed on
    resource: str  # the one of which the largest part is used
    used: str
    allocatable: str
    share: float  # used of allocatable
    others: float  # of the share, what pods use that no topology placed
    state: str
    workloads: dict[str, int]  # to how many pods each has here


class Hit(Answer, frozen=True, kw_only=True):
    """Something whose name holds a text."""

    kind: str  # Workload, ClusterQueue, LocalQueue or Cohort
    name: str
    namespace: str  # empty: it is in none
    about: str  # a workload's phase, a queue's Cohort


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
