"""Facts about strays: running objects without a workload."""

from __future__ import annotations

from typing import TypeAlias

from tidegate.contracts.fact_kinds.definitions import Fact
from tidegate.contracts.observations import JobState, Stray
from tidegate.model.ids import ObjectRef


class StrayReported(Fact, frozen=True, kw_only=True, tag="StrayReported/1"):
    """An object without a workload runs, or ran before, and has to be stopped."""

    workload: str  # the key that its workload would have
    uid: str
    job: ObjectRef
    resource: str  # of the watch that reads it, e.g. "jobs.batch"
    version: int = 0
    reason: Stray
    message: str = ""
    state: JobState


class StrayCleared(Fact, frozen=True, kw_only=True, tag="StrayCleared/1"):
    """A stray was deleted, may run now, or has a workload now."""

    workload: str
    uid: str


StrayFact: TypeAlias = StrayReported | StrayCleared
