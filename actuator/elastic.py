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

from actuator.apply import pinned
from actuator.calls import Calls
from actuator.following import watch_query
from actuator.showing.slices import known
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent
from tidegate.errors import ApiStatusError, ApiUnreachableError, UndecodableError
from tidegate.jobs import batch_job
from tidegate.jobs import pod as pods
from tidegate.kinds import names
from tidegate.kinds.decode import Bookmark, Unreadable, decode
from tidegate.kinds.meta import ObjectMeta, Status, holding
from tidegate.kinds.pods import Pod
from tidegate.kinds.workload import Workload
from tidegate.service.backoff import delays
from tidegate.service.logs import get_log

PAGE_MAX, LOOKS_AGAIN_S = 500, 1.0
_PODS = "/api/v1/pods"
_SELECTED = {"labelSelector": f"{names.ELASTIC_POD}=true"}
_log = get_log("elastic")


class LetGo:
    """See ``actuator.consume.Learner``: of the ledger it only takes that it is time to look."""

    def __init__(self, calls: Calls, random: Random) -> None:
        self._calls = calls.only_while(lambda: self._working)
        self._random = random
        self._working = False
        self._pods = dict[str, dict[str, Pod]]()  # by their job's uid and their own name
        self._changed, self._began = asyncio.Event(), asyncio.Event()

    def learn(self, told: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Learner.learn``."""
        del told
        if live and isinstance(event, StartOrdered):
            self._changed.set()

    def carried_out(self, workload: str) -> None:
        """Take no notice."""

    def begin_anew(self) -> None:
        """Have nothing to forget."""

    def work(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Learner.work``."""
        self._working = working
        self._changed.set()
        self._began.set()

    async def run(self) -> None:
        """Watch pods, and let go whom the Workloads grant it, for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._attend())
            tasks.create_task(self._let_go())

    async def _attend(self) -> None:
        waits = delays(self._random, first_s=0.5, most_s=30.0)
        while True:
            await self._until_working()
            try:
                version = await self._list()
                waits = delays(self._random, first_s=0.5, most_s=30.0)
                await self._watch(version)
            except (ApiUnreachableError, ApiStatusError, UndecodableError) as error:
                _log.info("cannot watch the pods of elastic jobs", error=str(error))
                await asyncio.sleep(next(waits))

    async def _until_working(self) -> None:
        while not self._working:
            self._began.clear()
            await self._began.wait()

    async def _list(self) -> int:
        found, token, version = dict[str, dict[str, Pod]](), "", 0
        while token or not version:
            query = {**_SELECTED, "limit": str(PAGE_MAX), **({"continue": token} if token else {})}
            page = await self._calls.page(_PODS, query, Pod)
            version, token = version or page.version, page.next
            for one in page.items:
                if isinstance(one, Pod):
                    found.setdefault(_job(one), {})[one.metadata.name] = one
        self._pods = found
        self._changed.set()
        return version

    async def _watch(self, version: int) -> None:
        """Follow from a version on until the watch ends; then it is listed again."""
        query = {**_SELECTED, **watch_query(str(version), self._random)}
        async with self._calls.watch(_PODS, query) as lines:
            async for line in lines:
                kind, found = decode(line, Pod)
                match found:
                    case Status():
                        return
                    case Bookmark() | Unreadable():
                        pass
                    case Pod():
                        self._take(found, gone=kind == "DELETED")

    def _take(self, found: Pod, *, gone: bool) -> None:
        job, name = _job(found), found.metadata.name
        standing = self._pods.setdefault(job, {})
        known = standing.get(name)
        if gone:
            standing.pop(name, None)
        elif known is None or known.metadata.version <= found.metadata.version:
            standing[name] = found
        if not standing:
            del self._pods[job]
        self._changed.set()

    async def _let_go(self) -> None:
        while True:
            waiting = [
                job for job, standing in self._pods.items() if any(map(_waits, standing.values()))
            ]
            if self._working:
                for job in waiting:
                    await self._settle(job)
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
