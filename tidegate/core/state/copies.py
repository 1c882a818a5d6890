"""What is known of the copies of placed jobs."""

from __future__ import annotations

import msgspec

from tidegate.contracts.observed.jobs import JobState
from tidegate.model.ids import ObjectRef


class Copy(msgspec.Struct, kw_only=True, eq=False):
    """A copy as its cluster reports it; private to its state."""

    ref: ObjectRef  # with its own uid and its cluster
    origin: str  # uid of the job at home
    resource: str  # whose rounds tell of it, e.g. "jobs.batch@west"
    queue: str = ""  # LocalQueue of the job at home
    version: int = 0
    state: JobState = JobState()
    ready: bool = False
    finished: str = ""  # how it ended; empty: it did not
    may_run: bool = False  # it was ordered to start, or seen running
    removals: int = 0  # how often its removal was ordered
    removal_us: int = 0  # when last
