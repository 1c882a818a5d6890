"""What partitions tell each other of a tree of cohorts that moves; see docs/adr/0027."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import ClusterQueueSpec, CohortSpec


class MovedQueue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ClusterQueue as the partition knew it that released it."""

    name: str
    uid: str
    version: int
    spec: ClusterQueueSpec
    created_us: int = 0
    deleting: bool = False
    author: str = ""
    statement: str = ""


class MovedCohort(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A Cohort as the partition knew it that released it."""

    name: str
    uid: str
    version: int
    spec: CohortSpec
    author: str = ""


class HeldWorkload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workload that ran when its tree was released, and what it is charged."""

    workload: str
    uid: str
    cluster_queue: str
    assignment: tuple[PodSetAssignment, ...]
    admitted_us: int
    executed_us: int = 0  # before that, for the maximum execution time


class SpentBudget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was spent of a budget when its tree was released."""

    owner: str  # "ClusterQueue/a" or "Cohort/a"
    resource: str
    until_us: int  # where the period ends
    since_us: int  # from when on it is counted
    at_us: int  # up to here
    hours: int  # base units times hours
    rest: int = 0  # base units times microseconds beyond those
    rate: int = 0  # base units that were charged then
    reported_percent: int = 0  # the highest threshold recorded


class TreeReleasedObserved(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="TreeReleasedObserved/1"
):
    """A partition has released a tree to another one, in pieces; told until it is taken."""

    of_partition: int
    ledger_id: str
    seq: int  # of TreeReleased in that ledger
    to: int
    queues: tuple[MovedQueue, ...] = ()
    cohorts: tuple[MovedCohort, ...] = ()
    held: tuple[HeldWorkload, ...] = ()
    spent: tuple[SpentBudget, ...] = ()
    piece: int = 1  # from 1
    pieces: int = 1


class TreeTakenObserved(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="TreeTakenObserved/1"
):
    """A partition has taken a tree that was released to it."""

    ledger_id: str  # of who released it
    seq: int  # the same


HandoverObserved: TypeAlias = TreeReleasedObserved | TreeTakenObserved
