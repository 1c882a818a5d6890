"""What a copy's cluster says of it, written into the status of the job at home.

Nothing else writes that status: no controller here runs such a job. What is shown already is not
written, so after a restart each job is read once.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from random import Random

import msgspec

from actuator.calls import Calls, passing, pinned
from actuator.metrics import Metrics
from actuator.pace import Pace
from tidegate.contracts.decisions import DecisionEvent, QuotaReserved
from tidegate.contracts.entry import Published
from tidegate.contracts.fact_kinds.copies import CopyRemoved, CopyReported
from tidegate.contracts.facts import FactEvent, WorkloadAdopted, WorkloadRemoved
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Object
from tidegate.jobs.placed.status import status_patch
from tidegate.jobs.registry import JOB_KINDS
from tidegate.model.clusters import AT
from tidegate.model.ids import ObjectRef
from tidegate.service.backoff import delays
from tidegate.service.logs import get_log

WRITES_PER_S = 50.0
TRIES_MAX = 8
"""What the API server refuses so often is left until the copy's state changes."""
KIND = "CopyStatus"
"""How the metrics call these writes."""
_log = get_log("copies")


class _Shown(msgspec.Struct):
    """What a job at home is to show."""

    job: ObjectRef
    copy: str  # uid of the copy that says so
    status: str  # see ``CopySeen.status``; empty: there is no copy
    finished: bool = False
    tries: int = 0


class CopyStatuses:
    """See ``ordering.consume.Subscriber``: the statuses of this cluster's placed jobs."""

    def __init__(self, calls: Calls, random: Random, metrics: Metrics) -> None:
        self._working = False
        self._calls = calls.only_while(lambda: self._working)
        self._random, self._metrics = random, metrics
        self._clusters = dict[str, str]()  # by workload, in which its quota is
        self._shown = dict[str, _Shown]()  # by workload
        self._due = dict[str, None]()  # workloads, the oldest first
        self._pace, self._changed = Pace(1 / WRITES_PER_S), asyncio.Event()

    def learn(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.learn``."""
        del message, live
        if AT in getattr(event, "workload", ""):
            return  # another cluster is its home
        match event:
            case QuotaReserved() | WorkloadAdopted() if event.cluster:
                self._clusters[event.workload] = event.cluster
            case CopyReported():
                self._report(event)
            case CopyRemoved():
                self._remove(event)
            case WorkloadRemoved():
                for table in (self._clusters, self._shown, self._due):
                    table.pop(event.workload, None)
            case _:
                pass

    def carried_out(self, workload: str) -> None:
        """Take no notice: nothing is ordered for such a job."""

    def begin_anew(self) -> None:
        """See ``Subscriber.begin_anew``."""
        for table in (self._clusters, self._shown, self._due):
            table.clear()

    def work(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.work``: what the cluster shows is not known, so all is looked at."""
        self._working = working
        self._due = dict.fromkeys(self._shown) if working else {}
        self._changed.set()

    async def run(self) -> None:
        """Write for ever."""
        waits = delays(self._random, first_s=0.1, most_s=10.0)
        while True:
            workload = await self._next()
            try:
                await self._show(workload)
            except (ApiUnreachableError, ApiStatusError) as error:
                self._again(workload, error)
                if isinstance(error, ApiUnreachableError) or passing(error):
                    await asyncio.sleep(next(waits))  # else it is this object's: others go on
            except Exception as error:  # noqa: BLE001 - of one object: the others go on
                self._give_up(workload, error)
            else:
                waits = delays(self._random, first_s=0.1, most_s=10.0)

    def _report(self, event: CopyReported) -> None:
        before = self._shown.get(event.workload)
        if event.copy.cluster != self._clusters.get(event.workload, event.copy.cluster):
            return  # it has no quota there
        if before is not None and before.finished:
            return
        status = event.status or ("" if before is None else before.status)
        job = ObjectRef(
            kind=event.copy.kind,
            namespace=event.copy.namespace,
            name=event.copy.name,
            uid=event.uid,
        )
        self._put(
            event.workload,
            _Shown(job, event.copy.uid, status, finished=bool(event.finished)),
        )

    def _remove(self, event: CopyRemoved) -> None:
        before = self._shown.get(event.workload)
        if before is not None and before.copy == event.copy.uid and not before.finished:
            self._put(event.workload, _Shown(before.job, before.copy, ""))

    def _put(self, workload: str, state: _Shown) -> None:
        self._shown[workload] = state
        if self._working:
            self._due[workload] = None
            self._changed.set()

    async def _next(self) -> str:
        while not (self._working and self._due):
            self._changed.clear()
            await self._changed.wait()
        await self._pace.turn()
        return next(iter(self._due), "")

    async def _show(self, workload: str) -> None:
        self._due.pop(workload, None)
        state = self._shown.get(workload)
        if state is None:
            return
        path = JOB_KINDS[state.job.kind].path(state.job.namespace, state.job.name)
        obj = await self._calls.read(path)
        if obj is None or obj["metadata"]["uid"] != state.job.uid:
            return
        patch = self._patch(state, obj)
        if patch is not None:
            await self._calls.merge(f"{path}/status", pinned(patch, obj))
            self._metrics.projected.labels(KIND, "written").inc()
        state.tries = 0

    def _patch(self, state: _Shown, obj: Object) -> Object | None:
        if JOB_KINDS[state.job.kind].ended(obj):
            return None  # an end is never taken back
        return status_patch(obj, state.status)

    def _again(self, workload: str, error: ApiUnreachableError | ApiStatusError) -> None:
        state = self._shown.get(workload)
        if state is None:
            return
        passes = isinstance(error, ApiUnreachableError) or error.status == HTTPStatus.CONFLICT
        state.tries += not passes
        if state.tries < TRIES_MAX:
            self._due.setdefault(workload, None)
        else:
            self._give_up(workload, error)

    def _give_up(self, workload: str, error: Exception) -> None:
        self._metrics.projected.labels(KIND, "given up").inc()
        cause = None if isinstance(error, ApiUnreachableError | ApiStatusError) else error
        _log.warning(
            "cannot show a copy's status", workload=workload, error=str(error), exc_info=cause
        )
