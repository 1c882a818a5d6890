"""The forms of answers: what OpenAPI is made from, and what each answer is held against."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from tidegate.contracts.decision_kinds.placements import PlacementTried
from tidegate.contracts.decisions import FlavorTried
from tidegate.model.ids import ObjectRef

Item = TypeVar("Item")


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Root of all answers."""


class Listed(Answer, Generic[Item], frozen=True, kw_only=True):
    """A part of a list, as it was after an event of the ledger."""

    seq: int  # the newest event that it follows from; of several partitions how many events
    total: int  # how many there are in all
    items: list[Item]
    next_offset: int | None = None  # where the next part begins; none: this is the last
    position: str | msgspec.UnsetType = msgspec.UNSET  # of several partitions: 0=41,1=7


class Freed(Answer, frozen=True, kw_only=True):
    """An event that freed or raised quota."""

    seq: int
    at: str
    type: str
    object: str  # a workload, a ClusterQueue or a Cohort
    amounts: dict[str, dict[str, str]]  # flavor to resource to quantity


class Stopped(Answer, frozen=True, kw_only=True):
    """A queue that was stopped, by which user and since when."""

    kind: str
    name: str
    policy: str
    at: str
    by: str  # empty: no policy stamped the user


class Line(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened to a workload."""

    seq: int
    at: str
    type: str
    text: str
    reason: str
    tried: list[FlavorTried]
    placements: list[PlacementTried] = []  # by podset and flavor, which domains were too small
    ahead: int = 0
    ahead_first: list[str] = []
    freed_by: list[Freed] = []
    priority: int | None = None
    preemptor_priority: int | None = None
    intent_seq: int = 0
    borrowed: dict[str, dict[str, str]] = {}
    stopped: list[Stopped] = []


class Wait(Answer, frozen=True, kw_only=True):
    """A time in which a workload waited."""

    from_seq: int
    from_: str = msgspec.field(name="from")
    to_seq: int | None
    to: str | None
    seconds: float | None
    outcome: str
    reason: str
    reason_seq: int | None
    tried: list[FlavorTried]
    checks: dict[str, str]
    ahead: int
    ahead_first: list[str]
    freed_by: list[Freed]
    stopped: list[Stopped]


class Why(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """The life of one workload, with the numbers that decided it."""

    workload: str
    uid: str
    job: ObjectRef | None
    phase: str
    cluster_queue: str
    lines: list[Line]
    waits: list[Wait]
    left_out: int = 0  # what stood around it before this seq is left out; 0: nothing is
    partition: int | None = None  # whose story it is, where the ledger has several
    earlier: list[Why] = []  # in partitions where it was before


class Obstacle(Answer, frozen=True, kw_only=True):
    """A condition that keeps a workload from being tried."""

    code: str
    text: str
    since: str | None
    until: str | None


class Raise(Answer, frozen=True, kw_only=True):
    """By how much a nominal quota would have to be raised."""

    flavor: str
    resource: str
    nominal: str
    needed: str
    more: str


class QuotaChange(Answer, frozen=True, kw_only=True):
    """A change of quota with which a workload would start."""

    cluster_queue: str
    raises: list[Raise]
    preempts: list[str]


class Endings(Answer, frozen=True, kw_only=True):
    """Workloads at whose end another would start."""

    workloads: list[str]
    smallest: bool
    preempts: list[str]


class WhyNot(Answer, frozen=True, kw_only=True):
    """The changes with which a workload would start now."""

    workload: str
    cluster_queue: str
    reason: str
    obstacles: list[Obstacle]
    starts_now: bool
    preempts: list[str]
    quota: list[QuotaChange]
    endings: Endings | None
    trials: int


class DryRun(WhyNot, frozen=True, kw_only=True):
    """The outcome for a job if it were submitted now."""

    message: str  # why it would wait; empty: it would start
    assignment: list[dict[str, Any]]  # for each podset its flavors; empty: it would wait


class WhatIf(Answer, frozen=True, kw_only=True):
    """The recorded figures, and two replays of them: unchanged and changed are to be compared."""

    title: str
    changes: list[str]
    notes: list[str]  # what the replays rest on
    sides: dict[str, dict[str, Any]]  # recorded, unchanged, changed: figures in all and by queue


class Queue(Answer, frozen=True, kw_only=True):
    """A ClusterQueue: how many wait and run, and why the first one waits."""

    name: str
    cohort: str
    strategy: str
    stop_policy: str
    stopped_at: str | None
    stopped_by: str | None
    pending: int
    reserving: int
    admitted: int
    longest_wait_seconds: float | None
    head: str | None
    reason: str | None


class StartRange(Answer, frozen=True, kw_only=True):
    """The time when a workload might start, if jobs run as long as those that ended of late."""

    earliest: str = msgspec.field(name="from")
    latest: str | None = msgspec.field(name="to")  # none: nothing tells


class Position(Answer, frozen=True, kw_only=True):
    """The position of a pending workload in its queue."""

    reason: str
    position: int | None  # from 1; none: it is in no queue, or gated
    position_in_local_queue: int | None
    workload: str
    namespace: str
    cluster_queue: str
    local_queue: str
    priority: int
    waited_seconds: float
    ahead: list[str]  # the first of them
    might_start: StartRange | None  # none: no place in a queue lets it start, or nothing tells


class Node(Answer, frozen=True, kw_only=True):
    """A Cohort or ClusterQueue with its quota of one flavor and resource."""

    name: str
    kind: str
    depth: int
    parent: str
    flavor: str
    resource: str
    nominal: str
    quota: str  # with what is below
    used: str
    borrowed: str
    lent: str
    bar: str


class Share(Answer, frozen=True, kw_only=True):
    """The fair share of a Cohort or ClusterQueue."""

    name: str
    kind: str
    depth: int
    parent: str
    weight: str
    share: int | None
    precise: str | float | None
    resource: str
    borrowing: bool


class Usage(Answer, frozen=True, kw_only=True):
    """A ClusterQueue's quota of one flavor and resource, and what becomes of it."""

    cluster_queue: str
    cohort: str
    flavor: str
    resource: str
    nominal: str | None
    used: str | None
    borrowed: str | None
    lent: str | None
    borrowing_limit: str | None
    lending_limit: str | None
    workloads: int
    used_by: list[str]
    quota_by: str


class Report(Answer, frozen=True, kw_only=True):
    """A SQL report that can be asked for."""

    name: str
    about: str
    by_namespace: bool  # users who see one namespace alone may read it


class Me(Answer, frozen=True, kw_only=True):
    """The caller's user, as the server knows it."""

    name: str
    everything: bool  # may see all workloads
    queues: bool  # may see all queues
