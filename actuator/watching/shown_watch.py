"""Watches of what is shown: Workloads deleted or without a job, queues that others change.

A Workload that a user created cannot be created again, so it is not watched. A queue's status has
other writers, too: an actuator that was suspended during a patch, or a user with kubectl.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from actuator.calls import Calls
from actuator.watching.change_watch import ChangeWatch, Meta, Watched
from actuator.writing.compare import ORPHAN
from actuator.writing.workqueue import Place
from actuator.writing.write import KUEUE, queue_path
from tidegate.jobs.workload import KIND
from tidegate.kinds.names import JOB_UID
from tidegate.model.texts import whole

QUEUES = {"ClusterQueue": "clusterqueues", "Cohort": "cohorts", "LocalQueue": "localqueues"}
ANSWERED_S = 1.0
"""A watch may tell of our own write before its answer is here: so long is waited for that."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """What is called when something is noticed."""

    begun: Callable[[], None]  # each resource is watched from now on, and what came before is not
    deleted: Callable[[str, str], None]  # key and uid of a Workload
    changed: Callable[[Place], None]  # a queue or cohort by others, a Workload that has no owner


class ShownWatch:
    """Watches the Workloads of jobs, and all queues and cohorts."""

    def __init__(self, calls: Calls, random: Random, noticed: Noticed) -> None:
        self._calls, self._noticed = calls, noticed
        workloads = Watched(KIND.path(), self._workload, {"labelSelector": JOB_UID})
        watched = [workloads]
        watched += [
            Watched(f"{KUEUE}/{plural}", partial(self._queue, kind), may_lack=True)
            for kind, plural in QUEUES.items()
        ]
        self._waited_for = {resource.path for resource in watched}  # these are not watched yet
        self._watches = [
            ChangeWatch(resource, calls, random, partial(self._begun, resource.path))
            for resource in watched
        ]

    async def run(self) -> None:
        """Watch for ever."""
        async with asyncio.TaskGroup() as tasks:
            for watch in self._watches:
                tasks.create_task(watch.run())

    def _begun(self, path: str) -> None:
        """Request a comparison of all objects once everything is watched."""
        self._waited_for.discard(path)
        if not self._waited_for:
            self._noticed.begun()

    def _workload(self, kind: str, meta: Meta) -> None:
        if kind == "DELETED":
            self._noticed.deleted(meta.key, meta.uid)
        elif not meta.owner_references:
            self._noticed.changed((ORPHAN, meta.key))

    def _queue(self, queue_kind: str, kind: str, meta: Meta) -> None:
        if kind != "DELETED" and not self._is_ours(queue_kind, meta):
            look = partial(self._look, queue_kind, meta)
            asyncio.get_running_loop().call_later(ANSWERED_S, look)

    def _look(self, kind: str, meta: Meta) -> None:
        if not self._is_ours(kind, meta):
            self._calls.forget(queue_path(kind, meta.key))
            self._noticed.changed((kind, meta.key))

    def _is_ours(self, kind: str, meta: Meta) -> bool:
        """Return whether our own last write made this version, or one that came later."""
        recent = self._calls.recent(queue_path(kind, meta.key))
        version = 0 if recent is None else whole(recent["metadata"]["resourceVersion"])
        return (version or 0) >= (whole(meta.resource_version) or 0)
