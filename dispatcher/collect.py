"""Copies on worker clusters that no workload here stands for any more: they are deleted.

Source: multikueue.md 2.8.
"""

from __future__ import annotations

import asyncio

from dispatcher import api as calls
from dispatcher.jobs import is_going
from dispatcher.manager.home import Home
from dispatcher.targets import Targets
from dispatcher.workers.fleet import Fleet
from dispatcher.workers.worker import Worker
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.workload import KIND as WORKLOAD
from tidegate.service.logs import get_log

_log = get_log("collect")


class Collector:
    """Looks every ``interval_s`` at each cluster that answers; 0: never."""

    def __init__(self, home: Home, fleet: Fleet, targets: Targets, interval_s: float) -> None:
        self._home, self._fleet, self._targets = home, fleet, targets
        self._interval_s = interval_s

    async def run(self) -> None:
        """Collect for ever."""
        while self._interval_s:
            await asyncio.sleep(self._interval_s)
            # One that answers slowly delays no other.
            await asyncio.gather(*map(self._collect, self._fleet.workers.values()))

    async def _collect(self, worker: Worker) -> None:
        for key, copy in list(worker.workloads.items.items()):
            try:
                await self._look_at(worker, key, copy)
            except TidegateError as error:
                _log.warning("not collected", worker=worker.name, error=str(error))
            except Exception:  # noqa: BLE001 - of one copy: the others go on
                _log.exception("not collected", worker=worker.name, workload=key)

    async def _look_at(self, worker: Worker, key: str, copy: Object) -> None:
        if key in self._targets.of:
            return
        namespace, _, name = key.partition("/")
        local = await calls.read(self._home.api, WORKLOAD.path(namespace, name))
        if local is not None and not is_going(local):
            return
        _log.info("copy left behind", worker=worker.name, workload=key)
        for owner in copy["metadata"].get("ownerReferences", ()):
            for kind in JOB_KINDS.values():
                same = (kind.api_version, kind.kind) == (owner["apiVersion"], owner["kind"])
                if same and kind.path() in worker.jobs:
                    await worker.delete_job(kind, namespace, owner["name"])
        await worker.withdraw(key)
