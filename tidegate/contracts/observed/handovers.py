"""Messages between partitions about a tree of cohorts that moves; see docs/adr/0027."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import ClusterQueueSpec, CohortSpec


class MovedQueue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ClusterQueue in the state of the partition that released it."""

    name: str
    uid: str
    version: int
    spec: ClusterQueueSpec
    created_us: int = 0
    deleting: bool = False
    author: str = ""
    statement: str = ""


class MovedCohort(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A Cohort in the state of the partition that released it."""

    name: str
    uid: str
    version: int
    spec: CohortSpec
    author: str = ""


class RunningWorkload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workload that ran when its tree was released, and its charge."""

    workload: str
    uid: str
    cluster_queue: str
    assignment: tuple[PodSetAssignment, ...]
    admitted_us: int
    executed_us: int = 0  # earlier run time, for the maximum execution time


class SpentBudget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The amount spent of a budget when its tree was released."""

    owner: str  # "ClusterQueue/a" or "Cohort/a"
    resource: str
    until_us: int  # end of the period
    since_us: int  # when counting began
    at_us: int  # usage is counted up to this time
    hours: int  # base units times hours
    rest: int = 0  # base units times microseconds beyond ``hours``
    rate: int = 0  # base units that were charged then
    reported_percent: int = 0  # the highest threshold recorded


class TreeReleasedObserved(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="TreeReleasedObserved/1"
):
    """A partition has released a tree to another one, in pieces; repeated until it is taken."""

    of_partition: int
    ledger_id: str
    seq: int  # of TreeReleased in that ledger
    to: int
    queues: tuple[MovedQueue, ...] = ()
    cohorts: tuple[MovedCohort, ...] = ()
    workloads: tuple[RunningWorkload, ...] = ()
    spent: tuple[SpentBudget, ...] = ()
    piece: int = 1  # from 1
    pieces: int = 1


class TreeTakenObserved(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="TreeTakenObserved/1"
):
    """A partition has taken a tree that was released to it."""

    ledger_id: str  # of the partition that released it
    seq: int  # of TreeReleased in that ledger


HandoverObserved: TypeAlias = TreeReleasedObserved | TreeTakenObserved
