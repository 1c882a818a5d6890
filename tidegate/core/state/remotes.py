"""What is known of worker clusters and of copies: those sent to workers, those of placed jobs."""

from __future__ import annotations

import msgspec

from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.contracts.observed.jobs import JobState
from tidegate.model.ids import ObjectRef


class RemoteCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a worker cluster as last reported."""

    connected: bool
    session: str = ""  # of the dispatcher that reported
    lost_us: int = 0  # since when it does not answer; 0: it does
    reason: str = ""
    message: str = ""


class Dispatch(msgspec.Struct, kw_only=True):
    """Which worker clusters a workload was sent to, and what became of that."""

    nominated: tuple[str, ...] = ()  # that may have a copy; none once one of them was chosen
    chosen: str = ""  # the cluster that runs it
    replaces: str = ""  # elastic jobs: the slice whose cluster was taken over
    stopping_us: int = 0  # when the chosen cluster was ordered to stop it; 0: it was not
    round_us: int = 0  # when clusters were last nominated
    copies: dict[str, RemoteCopy] = {}  # by cluster
    leaving: dict[str, None] = {}  # clusters that shall have nothing of it, until that was seen
    again: bool = False  # another dispatcher works: orders are to be repeated
    ran: bool = False  # a worker has its job: the status of the one here is that one's
    proposed: tuple[str, ...] = ()  # what an external dispatcher nominates


class Copy(msgspec.Struct, kw_only=True, eq=False):
    """The copy of a placed job as a member cluster reports it; private to its state."""

    ref: ObjectRef  # with its own uid and its cluster
    origin: str  # uid of the job at home
    resource: str  # whose rounds tell of it, e.g. "jobs.batch@west"
    version: int = 0
    state: JobState = JobState()
    ready: bool = False
    finished: str = ""  # how it ended; empty: it did not
    status: str = ""  # as last told, in ``CopyReported``
    may_run: bool = False  # it was ordered to start, or seen running
    removals: int = 0  # how often its removal was ordered


def ended_run(dispatch: Dispatch | None) -> Dispatch | None:
    """Return it without a worker's status on the job here and without nominations.

    It is changed in place.
    """
    if dispatch is not None:
        dispatch.ran, dispatch.proposed, dispatch.replaces = False, (), ""
    return dispatch
