"""Pods of elastic jobs are let go as far as their Workload was granted pods, and no further.

An elastic job's pods are made behind a scheduling gate, for the job may grow at any time. Nothing
is remembered of the ledger: what was granted stands on the Workloads in the cluster, and which pods
run and wait is listed and watched. What is seen of a pod can only be old in that it waits no more,
which nobody but this brings about. A Workload counts only while its job is of the generation that
it was written for: else the job may have shrunk since, and somebody else have the quota by now.

Source: behaviour.md 13.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from random import Random

import msgspec

from actuator.calls import Calls
from actuator.ordering.apply import pinned
from actuator.projection.slices import known
from actuator.watching.informer import Informer, Source
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent
from tidegate.errors import ApiStatusError, ApiUnreachableError, UndecodableError
from tidegate.jobs.batch import batch_job
from tidegate.jobs.pods import pod as pods
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workload import Workload
from tidegate.kinds.meta import ObjectMeta, holding
from tidegate.kinds.pods import Pod
from tidegate.service.logs import get_log

LOOKS_AGAIN_S = 1.0
_PODS = "/api/v1/pods"
_SELECTED = {"labelSelector": f"{names.ELASTIC_POD}=true"}
_log = get_log("elastic")


class PodUngater:
    """See ``ordering.consume.Subscriber``: an event says only that it is time to look."""

    def __init__(self, calls: Calls, random: Random) -> None:
        self._calls = calls.only_while(lambda: self._working)
        self._working = False
        self._pods = dict[str, dict[str, Pod]]()  # by their job's uid and their own name
        self._changed = asyncio.Event()
        source = Source(
            _PODS, Pod, self._note, self._changed.set, selected=_SELECTED, lists_again=True
        )
        self._mirror = Informer(source, self._calls, random)

    def learn(self, told: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.learn``."""
        del told
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
        job, name = _job(about), about.metadata.name
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
            waiting = [
                job for job, standing in self._pods.items() if any(map(_waits, standing.values()))
            ]
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

    async def _settle(self, job: str) -> None:
        standing = dict(self._pods.get(job, {}))  # it may change in between
        waiting = sorted(name for name, one in standing.items() if _waits(one))
        if not waiting:
            return
        running = sum(not _gated(one) and not pods.is_finished(one) for one in standing.values())
        try:
            room = await self._granted(job, standing[waiting[0]].metadata) - running
            for name in waiting[: max(room, 0)]:
                await self._release(job, standing[name])
        except (ApiUnreachableError, ApiStatusError, UndecodableError) as error:
            passed = isinstance(error, ApiStatusError) and error.status in _PASSED
            if not passed:
                _log.warning("cannot let pods go", job=job, error=str(error))

    async def _granted(self, job: str, pod: ObjectMeta) -> int:
        """Return how many pods the Workload that stands for a job now was granted; 0: none does."""
        path = f"/apis/{names.API_VERSION}/namespaces/{pod.namespace}/workloads"
        page = await self._calls.page(path, {"labelSelector": f"{names.JOB_UID}={job}"}, Workload)
        generation = await self._generation(pod)  # read last: nothing older is compared with it
        return max(
            (
                granted(one)
                for one in page.items
                if isinstance(one, Workload) and known(one.metadata.annotations) == generation
            ),
            default=0,
        )

    async def _generation(self, pod: ObjectMeta) -> int:
        """Return the generation of a pod's job; -1: there is none."""
        owner = pod.controller()
        name = "" if owner is None else owner.name
        found = await self._calls.read(batch_job.KIND.path(pod.namespace, name))
        return -1 if found is None else int(found["metadata"]["generation"])

    async def _release(self, job: str, found: Pod) -> None:
        meta = found.metadata
        gates = [one for one in found.spec.scheduling_gates if one.get("name") != names.ELASTIC_JOB]
        body = {"spec": {"schedulingGates": list(gates) or None}}
        known = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}}
        path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}"
        await self._calls.patch(path, pinned(body, known))
        spec = msgspec.structs.replace(found.spec, scheduling_gates=tuple(gates))
        if meta.name in self._pods.get(job, {}):
            self._pods[job][meta.name] = msgspec.structs.replace(found, spec=spec)


_PASSED = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)
"""The pod has changed, or is gone: the watch tells how it is now."""


def granted(found: Workload) -> int:
    """Return how many pods a Workload may have now."""
    conditions, admission = found.status.conditions, found.status.admission
    admitted = holding(conditions, "Admitted") and not holding(conditions, "Finished")
    if not admitted or admission is None:
        return 0
    asked = {one.name: one.count for one in found.spec.pod_sets}
    given = {one.name: one.count or 0 for one in admission.pod_set_assignments}
    return sum(min(count, asked.get(name, 0)) for name, count in given.items())


def _job(found: Pod) -> str:
    owner = found.metadata.controller()
    return "" if owner is None else owner.uid


def _gated(found: Pod) -> bool:
    return any(one.get("name") == names.ELASTIC_JOB for one in found.spec.scheduling_gates)


def _waits(found: Pod) -> bool:
    return _gated(found) and not found.metadata.deleting and not pods.is_finished(found)
