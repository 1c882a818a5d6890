"""Where the cluster differs from the read model: compared as a whole, and watched from then on.

Where EVENTS has lost its beginning, what is compared also fills in what no event says. A Workload
that a user created cannot be created again, so it is not watched. A queue's status has other
writers, too: an actuator that was suspended during a patch, or a user with kubectl.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from actuator.calls import Calls
from actuator.change_watch import ChangeWatch, Meta, WatchedCollection
from actuator.projection import rehydrate
from actuator.projection.queues.shares import SharesSeen
from actuator.projection.read_model import ReadModel, Seed
from actuator.projection.workload_view import WorkloadView
from actuator.workqueue import Place
from actuator.writing.removal import is_finished, is_orphaned
from actuator.writing.write import KUEUE, Writer, queue_path
from tidegate.jobs.kind import Object
from tidegate.jobs.workload import KIND
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.queues.objects import ClusterQueue, Cohort, LocalQueue
from tidegate.kinds.kueue_api.queues.own_annotations import partition_of
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import JOB_UID
from tidegate.model.texts import parse_whole
from tidegate.service.logs import get_log

PAGE_MAX = 500
ORPHAN = "Orphan"
"""The place of a Workload that a job left behind."""
_log = get_log("compare")
QUEUES = {"ClusterQueue": "clusterqueues", "Cohort": "cohorts", "LocalQueue": "localqueues"}
ANSWERED_S = 1.0
"""A watch may tell of our own write before its answer is here: so long is waited for that."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One look at every Workload and queue."""

    calls: Calls
    read_model: ReadModel
    writer: Writer

    async def differing(self) -> list[Place]:
        """Return the objects that differ from the read model; errors of ``Calls``."""
        queues = [("Cohort", cohort) async for cohort in self._list_objects("cohorts")]
        queues += [("ClusterQueue", queue) async for queue in self._list_objects("clusterqueues")]
        queues += [("LocalQueue", queue) async for queue in self._list_objects("localqueues")]
        if self.read_model.fills_in:
            await self._seed_read_model(queues)
        same, differing = set[Place](), list[Place]()
        async for workload in self._list_objects("workloads"):
            if self._is_workload_current(workload):
                same.add(("Workload", _key(workload)))
            elif _key(workload) in self.read_model.removed:
                differing.append(("Workload", _key(workload)))
            elif self._is_orphaned(workload):
                differing.append((ORPHAN, _key(workload)))
        same |= {
            (kind, _key(queue)) for kind, queue in queues if self._is_queue_current(kind, queue)
        }
        self.read_model.mark_moved()  # from here on only what moves again is marked
        self.read_model.mark_all()
        return [
            *differing,
            *(place for place in self.read_model.take_changed() if place not in same),
        ]

    async def _seed_read_model(self, queues: list[tuple[str, Object]]) -> None:
        for kind, queue in queues:
            self._note_object(kind, queue)
        async for workload in self._list_objects("workloads"):
            self._note_object("Workload", workload)
        self.read_model.end_seeding()

    def _is_own(self, kind: str, obj: Object) -> bool:
        """Return whether an object is this partition's; LocalQueues are all's."""
        territory = self.read_model.territory
        if kind == "LocalQueue":
            return True
        if kind == "Workload":
            return territory.is_own_workload(obj, self.read_model.local_queues)
        number = partition_of(read(obj["metadata"], ObjectMeta))
        return (
            number == territory.number
            if kind == "Cohort"
            else territory.note_partition(_key(obj), number)
        )

    async def _list_objects(self, plural: str) -> AsyncGenerator[Object]:
        query = {"limit": str(PAGE_MAX)}
        while True:
            page = await self.calls.read(f"{KUEUE}/{plural}", query)
            for obj in [] if page is None else page["items"]:
                yield obj
            token = "" if page is None else page["metadata"].get("continue", "")
            if not token:
                return
            query["continue"] = token

    def _note_object(self, kind: str, obj: Object) -> None:
        try:
            for seed in _seeds_of(kind, obj) if self._is_own(kind, obj) else ():
                if not isinstance(seed, WorkloadView) or not self._is_lost(seed.decision):
                    self.read_model.add_seed(seed)
        except Exception as error:  # noqa: BLE001 - of one object: the others go on
            _log.warning("cannot be read back", kind=kind, name=_key(obj), error=str(error))

    def _is_lost(self, decision: str) -> bool:
        """Return whether a decision stood in the tail that its ledger lost before it was recovered.

        Such an object is written again under the ledger's other name, unless it is finished.
        """
        ledger_id, _, opened = self.read_model.opened.rpartition("/")
        former, _, seq = decision.rpartition("/")
        return former != ledger_id != "" and (parse_whole(seq) or 0) >= (parse_whole(opened) or 0)

    def _is_workload_current(self, obj: Object) -> bool:
        view = self.read_model.workloads.get(_key(obj))
        if view is None:
            return False
        view.object_uid = obj["metadata"]["uid"]
        return self._answer_if_valid("Workload", obj, lambda: self.writer.is_shown(view, obj))

    def _is_orphaned(self, obj: Object) -> bool:
        """Return whether a Workload's job was deleted, and it is not marked finished yet."""
        unknown = _key(obj) not in self.read_model.workloads
        return unknown and self._answer_if_valid(
            "Workload",
            obj,
            lambda: self._is_own("Workload", obj) and is_orphaned(obj) and not is_finished(obj),
        )

    def _is_queue_current(self, kind: str, obj: Object) -> bool:
        return self._answer_if_valid(
            kind, obj, lambda: not self.writer.queue_patch(kind, _key(obj), obj)
        )

    @staticmethod
    def _answer_if_valid(kind: str, obj: Object, question: Callable[[], bool]) -> bool:
        """Return an answer about one object; False of one that makes no sense."""
        try:
            return question()
        except Exception as error:  # noqa: BLE001 - of one object: the others go on
            _log.warning("cannot be compared", kind=kind, name=_key(obj), error=str(error))
            return False


def _seeds_of(kind: str, obj: Object) -> list[Seed]:
    match kind:
        case "ClusterQueue":
            queue = read(obj, ClusterQueue)
            shares = [] if queue.status.fair_sharing is None else [SharesSeen()]
            return [*rehydrate.facts_of_cluster_queue(queue), *shares]
        case "Cohort":
            return [rehydrate.fact_of_cohort(read(obj, Cohort))]
        case "LocalQueue":
            return [rehydrate.fact_of_local_queue(read(obj, LocalQueue))]
        case _:
            view = rehydrate.view_of_workload(read(obj, Workload))
            return [] if view is None else [view]


def _key(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


@dataclass(frozen=True, slots=True)
class OnChange:
    """What is called when something is noticed."""

    begun: Callable[[], None]  # each resource is watched from now on, and what came before is not
    deleted: Callable[[str, str], None]  # key and uid of a Workload
    changed: Callable[[Place], None]  # a queue or cohort by others, a Workload that has no owner


class ProjectionWatch:
    """Watches the Workloads of jobs, and all queues and cohorts."""

    def __init__(self, calls: Calls, random: Random, noticed: OnChange) -> None:
        self._calls, self._noticed = calls, noticed
        workloads = WatchedCollection(KIND.path(), self._on_workload, {"labelSelector": JOB_UID})
        watched = [workloads]
        watched += [
            WatchedCollection(f"{KUEUE}/{plural}", partial(self._on_queue, kind), may_lack=True)
            for kind, plural in QUEUES.items()
        ]
        self._waited_for = {resource.path for resource in watched}  # these are not watched yet
        self._watches = [
            ChangeWatch(resource, calls, random, partial(self._on_begun, resource.path))
            for resource in watched
        ]

    async def run(self) -> None:
        """Watch for ever."""
        async with asyncio.TaskGroup() as tasks:
            for watch in self._watches:
                tasks.create_task(watch.run())

    def _on_begun(self, path: str) -> None:
        """Request a comparison of all objects once everything is watched."""
        self._waited_for.discard(path)
        if not self._waited_for:
            self._noticed.begun()

    def _on_workload(self, kind: str, meta: Meta) -> None:
        if kind == "DELETED":
            self._noticed.deleted(meta.key, meta.uid)
        elif not meta.owner_references:
            self._noticed.changed((ORPHAN, meta.key))

    def _on_queue(self, queue_kind: str, kind: str, meta: Meta) -> None:
        if kind != "DELETED" and not self._is_own_write(queue_kind, meta):
            look = partial(self._on_changed, queue_kind, meta)
            asyncio.get_running_loop().call_later(ANSWERED_S, look)

    def _on_changed(self, kind: str, meta: Meta) -> None:
        if not self._is_own_write(kind, meta):
            self._calls.forget_write(queue_path(kind, meta.key))
            self._noticed.changed((kind, meta.key))

    def _is_own_write(self, kind: str, meta: Meta) -> bool:
        """Return whether our own last write made this version, or one that came later."""
        recent = self._calls.last_written(queue_path(kind, meta.key))
        version = 0 if recent is None else parse_whole(recent["metadata"]["resourceVersion"])
        return (version or 0) >= (parse_whole(meta.resource_version) or 0)
