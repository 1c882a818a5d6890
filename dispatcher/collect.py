"""Delete copies on worker clusters that belong to no workload here any more.

Source: multikueue.md 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from dispatcher import api as calls
from dispatcher.adapters.copies import is_several, workload_of, workloads_of
from dispatcher.jobs import is_being_deleted
from dispatcher.manager.manager_cluster import ManagerCluster
from dispatcher.targets import Targets
from dispatcher.workers.fleet import Fleet
from dispatcher.workers.worker import Worker
from tidegate.errors import TidegateError
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.workload import KIND as WORKLOAD
from tidegate.service.logs import get_log

_log = get_log("collect")


class OrphanCollector:
    """Looks every ``interval_s`` at each cluster that answers; 0: never."""

    def __init__(
        self, home: ManagerCluster, fleet: Fleet, targets: Targets, interval_s: float
    ) -> None:
        self._home, self._fleet, self._targets = home, fleet, targets
        self._interval_s = interval_s

    async def run(self) -> None:
        """Collect for ever; one cluster that answers slowly, for hours, delays no other."""
        underway = dict[Worker, asyncio.Task[None]]()
        async with asyncio.TaskGroup() as tasks:
            while self._interval_s:
                await asyncio.sleep(self._interval_s)
                underway = {worker: task for worker, task in underway.items() if not task.done()}
                underway |= {  # no variable is left that would keep a worker that is gone
                    worker: tasks.create_task(self._collect(worker))
                    for worker in self._fleet.workers.values()
                    if worker not in underway
                }

    async def _collect(self, worker: Worker) -> None:
        for key, copy in list(worker.workloads.items.items()):
            with _logged(worker, key):
                await self._check_copy(worker, key, copy)
        for path, jobs in worker.jobs.items():
            kind = next(kind for kind in JOB_KINDS.values() if kind.path() == path)
            for key, job in list(jobs.items.items()):
                with _logged(worker, key):
                    await self._check_job(worker, kind, key, job)

    async def _check_copy(self, worker: Worker, key: str, copy: Object) -> None:
        if await self._is_wanted(key):
            return
        namespace = key.partition("/")[0]
        _log.info("copy left behind", worker=worker.name, workload=key)
        followed = (kind for kind in JOB_KINDS.values() if kind.path() in worker.jobs)
        kinds = {(kind.api_version, kind.kind): kind for kind in followed}  # a Pod is of two
        for owner in copy["metadata"].get("ownerReferences", ()):
            kind = kinds.get((owner["apiVersion"], owner["kind"]))
            if kind is None or is_several(kind):  # others may run of it
                continue
            if not await self._serves_other_slice(worker, kind, namespace, owner["name"]):
                await worker.delete_job(kind, namespace, owner["name"])
        await worker.delete_copy(key)

    async def _serves_other_slice(
        self, worker: Worker, kind: JobKind[Any], namespace: str, name: str
    ) -> bool:
        """Return whether a job is one with another slice than it was made for."""
        job = await worker.find_job(kind, namespace, name, fresh=True)
        workload = "" if job is None else workload_of(job)
        return bool(workload) and await self._is_wanted(workload)

    async def _check_job(self, worker: Worker, kind: JobKind[Any], key: str, job: Object) -> None:
        """Delete a job whose Workload copy is gone: the copy was the only reference to it."""
        workloads = workloads_of(kind, job)
        if not workloads or any(each in worker.workloads.items for each in workloads):
            return
        for each in workloads:
            if await self._is_wanted(each):
                return
        _log.info("job left behind", worker=worker.name, job=key)
        namespace, _, name = key.partition("/")
        await worker.delete_job(kind, namespace, name)

    async def _is_wanted(self, key: str) -> bool:
        """Return whether a Workload is there in the cluster that decides, or is sent by it."""
        if key in self._targets.of:
            return True
        namespace, _, name = key.partition("/")
        local = await calls.read(self._home.api, WORKLOAD.path(namespace, name))
        return local is not None and not is_being_deleted(local)


@contextmanager
def _logged(worker: Worker, key: str) -> Generator[None]:
    """Log the failure of one object: the others go on."""
    try:
        yield
    except TidegateError as error:
        _log.warning("not collected", worker=worker.name, key=key, error=str(error))
    except Exception:  # noqa: BLE001 - of one object
        _log.exception("not collected", worker=worker.name, key=key)
