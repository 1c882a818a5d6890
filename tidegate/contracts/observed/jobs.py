"""The identity of an observed object; a job's state and checks, and why one must not run."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tidegate.model.podset import PodSetUpdate

INCOMPLETE = "tidegate.dev/pod-group-incomplete"
"""The gate of a pod group that was complete and lost pods before it started."""
NO_REPLICAS, VALIDATION_FAILED = "tidegate.dev/no-replicas", "ray.io/validation-failed"
ON_HOLD = {
    NO_REPLICAS: "it asks for no pods",
    VALIDATION_FAILED: "its controller refuses to run it",
}
"""The gates of jobs that are on hold, as Kueue says, and why."""
Stray: TypeAlias = Literal["Unreadable", "OwnerWaits", "OwnerMayWait"]
"""Why an object without a workload must not run: its requests cannot be decoded; a managed
owner waits, seen by the same watch; a managed owner waits, seen by another watch.
"""


class Observed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The identity that every object's observation begins with."""

    namespace: str = ""
    name: str
    uid: str
    version: int  # resourceVersion
    session: str  # of ingest
    round: int = 0  # of the list; 0: a watch


class Placed(Observed, frozen=True, kw_only=True):
    """Root of observations of objects that belong to one partition."""

    partition: int = 0  # annotation tidegate.dev/partition
    move_to: int | None = None  # annotation tidegate.dev/move-to


class JobState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a job, with which orders are compared."""

    suspended: bool = True  # in the sense of its kind; a pod: gated
    partly: bool = False  # it runs, but some of its pods still wait for a start
    started: bool = False  # batch Job: startTime is set, so the template cannot be changed
    active: int = 0  # pods that run or may start
    ready: int = 0
    succeeded: int = 0
    deleting: bool = False
    orphaning: bool = False  # deleted with orphan propagation: its Workload stays
    decision: str = ""  # annotation tidegate.dev/decision, "<ledger id>/<seq>"
    generation: int = 0
    sized: int = 0  # elastic jobs: the version of the object that holds the pod count; 0: the job
    injected: bool = False  # suspended, and its template is not yet as its owner wrote it
    checkpoint_us: int = 0  # annotation tidegate.dev/checkpoint-at, set by its owner; 0: none

    @property
    def size_version(self) -> int:
        """Return the number that rises whenever the job's pod counts change."""
        return self.sized or self.generation


class CheckSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of an admission check in a Workload's status."""

    name: str
    state: str  # Pending, Ready, Retry, Rejected
    message: str = ""
    requeue_after_s: int = 0
    updates: tuple[PodSetUpdate, ...] = ()
