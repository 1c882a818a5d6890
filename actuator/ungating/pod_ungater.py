"""Pods are let go as far as their Workload was granted pods, and no further.

Pods of some jobs are made behind a scheduling gate at any time while the job runs. Nothing is
remembered of the ledger: what was granted stands on the objects in the cluster, and which pods run
and wait is listed and watched. What is seen of a pod can only be old in that it waits no more,
which nobody but this brings about.

Source: behaviour.md 13.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from random import Random
from typing import Protocol

import msgspec

from actuator.calls import Calls, pinned
from actuator.watching.informer import Informer, Source
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent
from tidegate.errors import ApiStatusError, ApiUnreachableError, UndecodableError
from tidegate.jobs.kind import Object
from tidegate.jobs.pods import pod as pods
from tidegate.kinds.pods import Pod
from tidegate.service.logs import get_log

LOOKS_AGAIN_S = 1.0
_PODS = "/api/v1/pods"
_log = get_log("ungater")


class UngatingRule(Protocol):
    """Which pods wait behind a gate, and which of them may go."""

    selector: str  # of a label that they bear
    gate: str

    def job_of(self, pod: Pod) -> str:
        """Return what pods have in common that are let go together."""
        ...

    async def release(
        self, calls: Calls, standing: Mapping[str, Pod], waiting: Sequence[str]
    ) -> Sequence[tuple[Pod, Object]]:
        """Return the pods that may go, each with the patch that lets it; errors of ``Calls``.

        ``standing`` are all pods of a job by their names, ``waiting`` the names of those that wait,
        in order; both were read before anything is asked for here.
        """
        ...


class PodUngater:
    """See ``ordering.consume.Subscriber``: an event says only that it is time to look."""

    def __init__(self, calls: Calls, random: Random, rule: UngatingRule) -> None:
        self._calls = calls.only_while(lambda: self._working)
        self._rule = rule
        self._working = False
        self._pods = dict[str, dict[str, Pod]]()  # by their job and their own name
        self._changed = asyncio.Event()
        source = Source(
            _PODS,
            Pod,
            self._note,
            self._changed.set,
            selected={"labelSelector": rule.selector},
            lists_again=True,
        )
        self._mirror = Informer(source, self._calls, random)

    def learn(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.learn``."""
        del message
        if live and isinstance(event, StartOrdered):
            self._changed.set()

    def carried_out(self, workload: str) -> None:
        """Take no notice."""

    def begin_anew(self) -> None:
        """Have nothing to forget."""

    def work(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.work``."""
        self._working = working
        self._changed.set()

    async def run(self) -> None:
        """Watch pods, and let go whom the Workloads grant it, for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._mirror.keep())
            tasks.create_task(self._let_go())

    def _note(self, old: Pod | None, new: Pod | None) -> None:
        about = old if new is None else new
        assert about is not None, "something changed"
        job, name = self._rule.job_of(about), about.metadata.name
        standing = self._pods.setdefault(job, {})
        known = standing.get(name)
        if new is None:
            standing.pop(name, None)
        elif known is None or known.metadata.version <= new.metadata.version:
            standing[name] = new
        if not standing:
            del self._pods[job]
        self._changed.set()

    async def _let_go(self) -> None:
        while True:
            waiting = [job for job in self._pods if self._waiting(job)]
            if self._working and self._mirror.complete:
                for job in waiting:
                    try:
                        await self._settle(job)
                    except Exception:  # noqa: BLE001 - of one object: the others go on
                        _log.exception("pods not let go", job=job)
            self._changed.clear()
            try:
                async with asyncio.timeout(LOOKS_AGAIN_S if waiting else None):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _waiting(self, job: str) -> list[str]:
        standing = self._pods.get(job, {})
        return sorted(name for name, one in standing.items() if _waits(one, self._rule.gate))

    async def _settle(self, job: str) -> None:
        standing, waiting = dict(self._pods.get(job, {})), self._waiting(job)
        if not waiting:
            return
        try:
            for found, body in await self._rule.release(self._calls, standing, waiting):
                await self._release(job, found, body)
        except (ApiUnreachableError, ApiStatusError, UndecodableError) as error:
            passed = isinstance(error, ApiStatusError) and error.status in _PASSED
            if not passed:
                _log.warning("cannot let pods go", job=job, error=str(error))

    async def _release(self, job: str, pod: Pod, body: Object) -> None:
        meta = pod.metadata
        known = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}}
        path = pods.KIND.path(meta.namespace, meta.name)
        await self._calls.patch(path, pinned(body, known))
        left = tuple(one for one in pod.spec.scheduling_gates if one.get("name") != self._rule.gate)
        spec = msgspec.structs.replace(pod.spec, scheduling_gates=left)
        if meta.name in self._pods.get(job, {}):
            self._pods[job][meta.name] = msgspec.structs.replace(pod, spec=spec)


_PASSED = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)
"""The pod has changed, or is gone: the watch tells how it is now."""


def runs(pod: Pod, gate: str) -> bool:
    """Tell whether a pod was let go and has not ended."""
    return not is_behind(pod, gate) and not pods.is_finished(pod)


def is_behind(pod: Pod, gate: str) -> bool:
    """Tell whether a pod has a gate."""
    return any(one.get("name") == gate for one in pod.spec.scheduling_gates)


def _waits(pod: Pod, gate: str) -> bool:
    waits = not pod.metadata.deleting and not pods.is_finished(pod)
    return waits and is_behind(pod, gate)
