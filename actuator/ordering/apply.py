"""Apply an order to its job: step by step, each pinned to the object it was meant for.

Every patch names uid *and* resourceVersion: without the version a late start beats a stop. After a
lost response or a conflict the object is read again: its fields show which steps are done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

import msgspec

from actuator.calls import CACHED, Calls, with_preconditions
from actuator.metrics import Metrics
from actuator.ordering.job_objects import (
    IsAhead,
    KeepsPods,
    delete_options,
    list_members,
    never_ahead,
    release_replaced_pods,
    remaining_steps,
    remove_finalizers,
    with_referenced_objects,
    without_forged_decision,
)
from actuator.ordering.orders import Expire, JobOrder, Order, job_of, with_pod_metadata
from actuator.ordering.pod_events import RecordsEvent, pod_events, removes_gate
from actuator.ordering.reports import Reporter, Traces
from actuator.ordering.retry_limits import RetryLimits
from tidegate.errors import ApiStatusError, ApiUnreachableError, UndecodableError
from tidegate.jobs import workload
from tidegate.jobs.kind import (
    Delete,
    Done,
    JobKind,
    Object,
    Patch,
    Refused,
    Start,
    Step,
    Stop,
    Wait,
)
from tidegate.jobs.pods import pod, pod_group
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kinds.decode import error_text
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

_log = get_log("apply")
StatusPatcher: TypeAlias = Callable[[str, Object, Object], Object]
"""A workload's key, its job as it is, and an order's patch of a status: the patch to send."""
_PODS = (pod.NAME, pod_group.NAME)
"""Kinds of jobs that wait behind a gate of their own."""
PATCHES_MAX = 20
"""More than any kind needs: another client reverts each patch."""
_UNDONE = Refused(reason="conflict", message="Another client reverts each patch.")


@dataclass(slots=True)
class _Attempt:
    """How far one order got."""

    path: str
    superseded: Callable[[], bool]
    waits: Iterator[float]
    since: float  # loop time of the last progress
    waiting_since: float | None = None  # loop time at which a stop began to wait
    found: Object | None = None  # the job, as last read or patched
    fresh: bool = False  # ``found`` is not from a cache
    patches: int = 0


@dataclass(frozen=True, slots=True)
class Applier:
    """Carries out orders on one API server."""

    calls: Calls
    reporter: Reporter
    random: Random
    metrics: Metrics
    patience: RetryLimits = field(default_factory=RetryLimits)
    traces: Traces = field(default_factory=Traces)
    ahead: IsAhead = never_ahead
    status_patcher: StatusPatcher = lambda _workload, _obj, patch: patch
    """What a Workload made directly is to show beside its order: one write for both."""
    keeps_pods: KeepsPods = lambda _: False
    say: RecordsEvent = lambda _: None

    async def carry_out(self, order: JobOrder, superseded: Callable[[], bool]) -> None:
        """Bring the job to what was ordered, or report why it cannot be, or give way."""
        began = asyncio.get_running_loop().time()
        with self.traces.span(order):
            if await self._reconcile(order, superseded):
                self._count(order, "done")
        name = type(order).__name__
        seconds = asyncio.get_running_loop().time() - began
        self.metrics.order_seconds.labels(name).observe(seconds)
        fields = {"workload": order.order.workload, "job": job_of(order).name, "seq": order.seq}
        _log.debug("order ended", order=name, seconds=round(seconds, 6), **fields)

    async def _reconcile(self, order: JobOrder, superseded: Callable[[], bool]) -> bool:
        job = job_of(order)
        if job.kind not in JOB_KINDS:
            await self.reporter.report_failure(
                order, "invalid", f"There is no job kind {job.kind!r}."
            )
            return False
        path = JOB_KINDS[job.kind].path(job.namespace, job.name)
        tried = _Attempt(path, superseded, self._delays(), asyncio.get_running_loop().time())
        while not superseded():
            try:
                step = await self._take_step(order, tried)
            except (ApiUnreachableError, ApiStatusError) as error:
                step = await self._back_off(error, tried)
            match step:
                case Done():
                    return True
                case Refused():
                    await self.reporter.report_failure(order, step.reason, step.message)
                    return False
                case _:
                    continue
        self._count(order, "superseded")
        return False

    async def _take_step(self, order: JobOrder, tried: _Attempt) -> Done | Refused | None:
        """Take one step; None: look again."""
        kind = JOB_KINDS[job_of(order).kind]
        if kind.members is not None:
            return await self._step_members(order, kind, tried)
        job = await self._current_job(order, tried)
        if isinstance(order, Expire):
            return Done() if isinstance(job, Refused) else await self._delete_job(order, tried)
        step = job if isinstance(job, Refused) else await self._step_of_kind(order, job, tried)
        match step:
            case Refused() if not tried.fresh:
                tried.found, tried.fresh = None, True  # perhaps the cache was behind
                return None
            case Done() | Refused():
                return step
            case Wait():
                return await self._wait_for_stop(step, tried)
            case Delete():
                return await self._delete_job(order, tried)
            case Patch():
                return await self._patch_job(order, self._with_status(order, step, tried), tried)

    async def _step_members(
        self, order: JobOrder, kind: JobKind[Any], tried: _Attempt
    ) -> Done | Refused | None:
        """Take one step with each object of a job that is several; None: look again."""
        pods = await list_members(self.calls, kind, job_of(order))
        if isinstance(order, Expire):
            for path, obj in pods.items():
                await self._apply_step(path, obj, Delete())
            await remove_finalizers(self.calls, kind, pods)
            return Done()
        paths = {obj["metadata"]["uid"]: path for path, obj in pods.items()}
        genuine_pods = [
            await self._without_forged_decision(order, obj, tried) for obj in pods.values()
        ]
        todo = remaining_steps(genuine_pods, kind, order, self.keeps_pods)
        if isinstance(todo, Refused):
            return todo
        if not todo:
            return await release_replaced_pods(self.calls, kind, order, pods, self.say)
        if tried.patches == PATCHES_MAX:
            return _UNDONE
        for obj, step in todo:
            await self._apply_step(paths[obj["metadata"]["uid"]], obj, step)
            self._observe_ungated(order, obj, step)
            for event in pod_events(order, obj, step):
                self.say(event)
        self._note_progress(tried)
        return None

    async def _apply_step(self, path: str, obj: Object, step: Step) -> None:
        if isinstance(step, Delete):
            await self.calls.delete(path, delete_options(obj["metadata"]["uid"]))
        elif isinstance(step, Patch):
            await self._send_patch(path, step, obj)

    async def _send_patch(self, path: str, step: Patch, obj: Object) -> Object:
        where = f"{path}/{step.subresource}" if step.subresource else path
        return await self.calls.patch(where, with_preconditions(step.body, obj))

    def _observe_ungated(self, order: JobOrder, before: Object, step: Step) -> None:
        """Measure that a pod was let go, if the step did so."""
        kind = job_of(order).kind
        if not (kind in _PODS and isinstance(order, Start) and isinstance(step, Patch)):
            return
        if removes_gate(before, step):
            key, of_group = order.order.workload, JOB_KINDS[kind].is_group
            self.metrics.kueue.observe_gate_removal(names.ADMISSION_GATE, key, of_group=of_group)

    def _note_progress(self, tried: _Attempt) -> None:
        tried.patches, tried.waits = tried.patches + 1, self._delays()
        tried.since = asyncio.get_running_loop().time()

    async def _current_job(self, order: JobOrder, tried: _Attempt) -> Object | Refused:
        """Return the job as it is; refuse if it is gone, perhaps with a namesake in its place."""
        uid = job_of(order).uid
        if tried.found is None and not tried.fresh:
            recent = self.calls.last_written(tried.path)
            tried.found = recent or await self.calls.read(tried.path, CACHED)
        if tried.found is None or (not tried.fresh and tried.found["metadata"]["uid"] != uid):
            tried.found, tried.fresh = await self.calls.read(tried.path), True
        if tried.found is None:
            return Refused(reason="gone", message="The job was deleted.")
        if tried.found["metadata"]["uid"] != uid:
            return Refused(reason="gone", message="Another job has its name.")
        return await self._without_forged_decision(order, tried.found, tried)

    async def _step_of_kind(self, order: Start | Stop, job: Object, tried: _Attempt) -> Step:
        kind = JOB_KINDS[job_of(order).kind]
        try:
            job = await with_referenced_objects(self.calls, kind, job)
            match order:
                case Start():
                    return kind.start(with_pod_metadata(order, job), job)
                case Stop():
                    return kind.stop(with_pod_metadata(order, job), job, self._waiting_s(tried))
        except UndecodableError as error:
            return Refused(reason="invalid", message=str(error))

    async def _without_forged_decision(
        self, order: JobOrder, job: Object, tried: _Attempt
    ) -> Object:
        """Return an object without a forged decision; see ``without_forged_decision``."""
        obj = await without_forged_decision(job, order, self.ahead, tried.superseded)
        if obj is not job:
            self._count(order, "forged")
        return obj

    async def report_crash(self, order: Order, error: Exception) -> None:
        """Report an order that failed unexpectedly."""
        _log.error("cannot be carried out", seq=order.seq, exc_info=error)
        await self.reporter.report_failure(
            order, "invalid", f"{type(error).__name__}: {error_text(error)}"
        )

    def _with_status(self, order: JobOrder, step: Patch, tried: _Attempt) -> Patch:
        if job_of(order).kind != workload.NAME or tried.found is None:
            return step
        body = self.status_patcher(order.order.workload, tried.found, step.body)
        return msgspec.structs.replace(step, body=body)

    async def _patch_job(self, order: JobOrder, step: Patch, tried: _Attempt) -> Refused | None:
        assert tried.found is not None, "a patch is thought out for an object"
        if tried.patches == PATCHES_MAX:
            return _UNDONE
        before = tried.found
        tried.found, tried.fresh = await self._send_patch(tried.path, step, before), True
        self._observe_ungated(order, before, step)
        self._note_progress(tried)
        return None

    async def _delete_job(self, order: JobOrder, tried: _Attempt) -> Done:
        await self.calls.delete(tried.path, delete_options(job_of(order).uid))
        return Done()

    async def _wait_for_stop(self, step: Wait, tried: _Attempt) -> Refused | None:
        if tried.waiting_since is None:
            tried.waiting_since = asyncio.get_running_loop().time()
        if self._waiting_s(tried) > self.patience.stop_s:
            message = f"Its controller did not stop it within {self.patience.stop_s:g} s."
            return Refused(reason="unreachable", message=message)
        tried.found = None
        await asyncio.sleep(step.after_s)
        return None

    async def _back_off(
        self, error: ApiUnreachableError | ApiStatusError, tried: _Attempt
    ) -> Refused | None:
        """Wait a moment and look again, unless this kind of trouble has lasted too long."""
        reason, bound_s = self.patience.limit_for(error)
        if asyncio.get_running_loop().time() - tried.since >= bound_s:
            return Refused(reason=reason, message=str(error))
        await asyncio.sleep(next(tried.waits))
        tried.found, tried.fresh = None, True
        return None

    def _waiting_s(self, tried: _Attempt) -> float:
        began = tried.waiting_since
        return 0.0 if began is None else asyncio.get_running_loop().time() - began

    def _delays(self) -> Iterator[float]:
        return backoff_delays(self.random, self.patience.first_s, self.patience.most_s)

    def _count(self, order: JobOrder, outcome: str) -> None:
        self.metrics.orders.labels(type(order).__name__, outcome).inc()
