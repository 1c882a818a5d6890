"""The state of worker clusters, of workloads sent to them, and of the copies of placed jobs."""

from __future__ import annotations

import msgspec

from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.contracts.observed.jobs import JobState
from tidegate.model.ids import ObjectRef


class RemoteCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a worker cluster as last reported."""

    connected: bool
    session: str = ""  # of the dispatcher that reported
    lost_us: int = 0  # since when it does not answer; 0: it answers
    reason: str = ""
    message: str = ""


class Dispatch(msgspec.Struct, kw_only=True):
    """Which worker clusters a workload was sent to, and which of them runs it."""

    nominated: tuple[str, ...] = ()  # may have a copy; empty once one cluster was chosen
    chosen: str = ""  # the cluster that runs it
    replaces: str = ""  # elastic jobs: the slice whose cluster was taken over
    stopping_us: int = 0  # when the chosen cluster was ordered to stop it; 0: it was not
    round_us: int = 0  # when clusters were last nominated
    copies: dict[str, RemoteCopy] = {}  # by cluster
    leaving: dict[str, None] = {}  # clusters whose copies are to be deleted, until that is observed
    again: bool = False  # another dispatcher took over: orders are to be repeated
    ran: bool = False  # a worker has run its job: the status of the job here is the worker's
    proposed: tuple[str, ...] = ()  # clusters that an external dispatcher nominates


class Copy(msgspec.Struct, kw_only=True, eq=False):
    """The copy of a placed job as a member cluster reports it; private to its state."""

    ref: ObjectRef  # with its own uid and its cluster
    origin: str  # uid of the job at home
    resource: str  # whose rounds list it, e.g. "jobs.batch@west"
    version: int = 0
    state: JobState = JobState()
    ready: bool = False
    finished: str = ""  # how it ended; empty: it did not
    status: str = ""  # as in the last ``CopyReported``
    may_run: bool = False  # it was ordered to start, or observed running
    removals: int = 0  # how often its removal was ordered


def clear_run(dispatch: Dispatch | None) -> Dispatch | None:
    """Clear a dispatch's run and its nominations, in place; return it."""
    if dispatch is not None:
        dispatch.ran, dispatch.proposed, dispatch.replaces = False, (), ""
    return dispatch
