"""Write the status of a copy, as its cluster publishes it, into the job at home.

Nothing else writes that status: no controller here runs such a job. What is shown already is not
written, so after a restart each job is read once.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from random import Random

import msgspec

from actuator.calls import Calls, is_temporary, with_preconditions
from actuator.metrics import Metrics
from actuator.workqueue import Pace
from tidegate.contracts.decisions import DecisionEvent, QuotaReserved
from tidegate.contracts.entry import Published
from tidegate.contracts.fact_kinds.clusters import CopyRemoved, CopyReported, EndShown
from tidegate.contracts.facts import FactEvent, WorkloadAdopted, WorkloadRemoved
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Object
from tidegate.jobs.placed.body import status_patch
from tidegate.jobs.registry import JOB_KINDS
from tidegate.model.clusters import AT
from tidegate.model.ids import ObjectRef
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

WRITES_PER_S = 50.0
TRIES_MAX = 8
"""What the API server refuses so often is left until the copy's state changes."""
KIND = "CopyStatus"
"""How the metrics call these writes."""
_log = get_log("copies")


class _HomeStatus(msgspec.Struct):
    """What a job at home is to show."""

    copy: str  # uid of the copy that says so
    status: str  # see ``CopySeen.status``; empty: there is no copy
    finished: bool = False
    tries: int = 0


_HEARD = QuotaReserved, WorkloadAdopted, CopyReported, CopyRemoved, EndShown, WorkloadRemoved


class CopyStatuses:
    """See ``actuator.events.Subscriber``: the statuses of this cluster's placed jobs."""

    def __init__(self, calls: Calls, random: Random, metrics: Metrics) -> None:
        self._working = False
        self._calls = calls.gated_by(lambda: self._working)
        self._random, self._metrics = random, metrics
        self._clusters = dict[str, str]()  # by a job's uid, in which its quota is
        self._shown = dict[
            str, dict[ObjectRef, _HomeStatus]
        ]()  # by a job's uid, and all that is said
        self._due = dict[ObjectRef, None]()  # the oldest first
        self._pace, self._changed = Pace(1 / WRITES_PER_S), asyncio.Event()

    def on_event(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.on_event``."""
        del message, live
        if not isinstance(event, _HEARD) or AT in event.workload or AT in event.uid:
            return  # or another cluster is its home
        match event:
            case QuotaReserved() | WorkloadAdopted() if event.cluster:
                self._clusters[event.uid] = event.cluster
            case CopyReported():
                self._note_status(event)
            case CopyRemoved():
                self._drop_copy(event)
            case EndShown():
                self._show_again(event)
            case WorkloadRemoved():
                self._drop_workload(event.uid)
            case _:
                pass

    def on_orders_done(self, workload: str) -> None:
        """Take no notice: nothing is ordered for such a job."""

    def reset(self) -> None:
        """See ``Subscriber.reset``."""
        for table in (self._clusters, self._shown, self._due):
            table.clear()

    def set_active(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.set_active``: all is looked at again, as the cluster may differ."""
        self._working = working
        self._due = {job: None for jobs in self._shown.values() for job in jobs if working}
        self._changed.set()

    async def run(self) -> None:
        """Write for ever."""
        waits = backoff_delays(self._random, first_s=0.1, most_s=10.0)
        while True:
            job = await self._next_job()
            try:
                await self._write_status(job)
            except (ApiUnreachableError, ApiStatusError) as error:
                self._retry_later(job, error)
                if isinstance(error, ApiUnreachableError) or is_temporary(error):
                    await asyncio.sleep(next(waits))  # else it is this object's: others go on
            except Exception as error:  # noqa: BLE001 - of one object: the others go on
                self._give_up(job, error)
            else:
                waits = backoff_delays(self._random, first_s=0.1, most_s=10.0)

    def _note_status(self, event: CopyReported) -> None:
        job = _home_job(event)
        before = self._home_status(job)
        if event.copy.cluster != self._clusters.get(event.uid, event.copy.cluster):
            return  # it has no quota there
        if before is not None and before.finished:
            return
        status = event.status or ("" if before is None else before.status)
        self._queue_status(job, _HomeStatus(event.copy.uid, status, finished=bool(event.finished)))

    def _drop_copy(self, event: CopyRemoved) -> None:
        job = _home_job(event)
        before = self._home_status(job)
        if before is not None and before.copy == event.copy.uid and not before.finished:
            self._queue_status(job, _HomeStatus(before.copy, ""))

    def _show_again(self, event: EndShown) -> None:
        """Queue what a job does not show any more: its API server may be from a backup."""
        for job, state in () if event.reason else self._shown.get(event.uid, {}).items():
            self._queue_status(job, state)

    def _drop_workload(self, uid: str) -> None:
        self._clusters.pop(uid, None)
        for job in self._shown.pop(uid, {}):
            self._due.pop(job, None)

    def _forget(self, job: ObjectRef) -> None:
        jobs = self._shown.get(job.uid, {})
        jobs.pop(job, None)
        if not jobs:
            self._shown.pop(job.uid, None)

    def _home_status(self, job: ObjectRef) -> _HomeStatus | None:
        return self._shown.get(job.uid, {}).get(job)

    def _queue_status(self, job: ObjectRef, state: _HomeStatus) -> None:
        self._shown.setdefault(job.uid, {})[job] = state
        if self._working:
            self._due[job] = None
            self._changed.set()

    async def _next_job(self) -> ObjectRef:
        while True:
            while not (self._working and self._due):
                self._changed.clear()
                await self._changed.wait()
            await self._pace.wait_for_rate()
            if (job := next(iter(self._due), None)) is not None:
                return job

    async def _write_status(self, job: ObjectRef) -> None:
        self._due.pop(job, None)
        state = self._home_status(job)
        if state is None:
            return
        path = JOB_KINDS[job.kind].path(job.namespace, job.name)
        obj = await self._calls.read(path)
        if obj is None or obj["metadata"]["uid"] != job.uid:
            self._forget(job)  # of no job here; a uid never comes back
            return
        patch = self._status_patch(job, state, obj)
        if patch is not None:
            await self._calls.patch_blind(f"{path}/status", with_preconditions(patch, obj))
            self._metrics.projected.labels(KIND, "written").inc()
        state.tries = 0

    def _status_patch(self, job: ObjectRef, state: _HomeStatus, obj: Object) -> Object | None:
        if JOB_KINDS[job.kind].terminal_phase(obj):
            return None  # an end is never taken back
        return status_patch(obj, state.status)

    def _retry_later(self, job: ObjectRef, error: ApiUnreachableError | ApiStatusError) -> None:
        state = self._home_status(job)
        if state is None:
            return
        passes = isinstance(error, ApiUnreachableError) or error.status == HTTPStatus.CONFLICT
        state.tries += not passes
        if state.tries < TRIES_MAX:
            self._due.setdefault(job, None)
        else:
            self._give_up(job, error)

    def _give_up(self, job: ObjectRef, error: Exception) -> None:
        self._metrics.projected.labels(KIND, "given up").inc()
        cause = None if isinstance(error, ApiUnreachableError | ApiStatusError) else error
        _log.warning(
            "cannot show a copy's status",
            namespace=job.namespace,
            name=job.name,
            error=str(error),
            exc_info=cause,
        )


def _home_job(event: CopyReported | CopyRemoved) -> ObjectRef:
    """Return the job at home that a copy belongs to: the copy's name and the uid of its origin.

    An object that is forged with the origin of another job does not match: its name differs.
    """
    copy = event.copy
    return ObjectRef(kind=copy.kind, namespace=copy.namespace, name=copy.name, uid=event.uid)
