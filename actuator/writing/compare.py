"""What the cluster shows now, compared with what it shall: when an actuator becomes the active one.

Where EVENTS has lost its beginning, what is found also fills in what nobody told.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from actuator.calls import Calls
from actuator.projection import rehydrate
from actuator.projection.queues.shares import SharesShown
from actuator.projection.read_model import ReadModel, Seed
from actuator.projection.workload_view import WorkloadView
from actuator.writing.orphans import is_finished, is_left
from actuator.writing.workqueue import Place
from actuator.writing.write import KUEUE, Writer
from tidegate.jobs.kind import Object
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.queues.cluster_queue import ClusterQueue
from tidegate.kinds.kueue_api.queues.cohort import Cohort
from tidegate.kinds.kueue_api.queues.local_queue import LocalQueue
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.model.numbers import whole
from tidegate.service.logs import get_log

PAGE_MAX = 500
ORPHAN = "Orphan"
"""The place of a Workload that a job left behind."""
_log = get_log("compare")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One look at every Workload and queue."""

    calls: Calls
    read_model: ReadModel
    writer: Writer

    async def differing(self) -> list[Place]:
        """Return the places on the board that do not show what they shall; errors of ``Calls``."""
        queues = [("Cohort", one) async for one in self._listed("cohorts")]
        queues += [("ClusterQueue", one) async for one in self._listed("clusterqueues")]
        queues += [("LocalQueue", one) async for one in self._listed("localqueues")]
        if self.read_model.fills_in:
            await self._fill_in(queues)
        same, left = set[Place](), list[Place]()
        async for found in self._listed("workloads"):
            if self._workload_is_same(found):
                same.add(("Workload", _key(found)))
            elif _key(found) in self.read_model.removed:
                left.append(("Workload", _key(found)))
            elif self._is_left_alone(found):
                left.append((ORPHAN, _key(found)))
        same |= {(kind, _key(found)) for kind, found in queues if self._queue_is_same(kind, found)}
        self.read_model.mark_moved()  # from here on only what moves again is marked
        self.read_model.mark_all()
        return [*left, *(place for place in self.read_model.take_changed() if place not in same)]

    async def _fill_in(self, queues: list[tuple[str, Object]]) -> None:
        for kind, found in queues:
            self._take(kind, found)
        async for found in self._listed("workloads"):
            self._take("Workload", found)
        self.read_model.filled_in()

    async def _listed(self, plural: str) -> AsyncGenerator[Object]:
        query = {"limit": str(PAGE_MAX)}
        while True:
            page = await self.calls.read(f"{KUEUE}/{plural}", query)
            for found in [] if page is None else page["items"]:
                yield found
            token = "" if page is None else page["metadata"].get("continue", "")
            if not token:
                return
            query["continue"] = token

    def _take(self, kind: str, found: Object) -> None:
        try:
            for seed in _seeds(kind, found):
                if not isinstance(seed, WorkloadView) or not self._is_lost(seed.decision):
                    self.read_model.seed(seed)
        except Exception as error:  # noqa: BLE001 - of one object: the others go on
            _log.warning("cannot be read back", kind=kind, name=_key(found), error=str(error))

    def _is_lost(self, decision: str) -> bool:
        """Tell whether a decision stood in the tail that its ledger lost before it was recovered.

        Whoever that is about is told again under the ledger's other name, unless it is over.
        """
        ledger_id, _, opened = self.read_model.opened.rpartition("/")
        former, _, seq = decision.rpartition("/")
        return former != ledger_id != "" and (whole(seq) or 0) >= (whole(opened) or 0)

    def _workload_is_same(self, obj: Object) -> bool:
        shown = self.read_model.workloads.get(_key(obj))
        if shown is None:
            return False
        shown.object_uid = obj["metadata"]["uid"]
        return self._holds("Workload", obj, lambda: self.writer.is_shown(shown, obj))

    def _is_left_alone(self, found: Object) -> bool:
        """Tell whether a Workload's job is gone, and nobody said yet that it is finished."""
        unknown = _key(found) not in self.read_model.workloads
        return unknown and self._holds(
            "Workload", found, lambda: is_left(found) and not is_finished(found)
        )

    def _queue_is_same(self, kind: str, found: Object) -> bool:
        return self._holds(
            kind, found, lambda: not self.writer.queue_patch(kind, _key(found), found)
        )

    @staticmethod
    def _holds(kind: str, found: Object, question: Callable[[], bool]) -> bool:
        """Return an answer about one object; False of one that makes no sense."""
        try:
            return question()
        except Exception as error:  # noqa: BLE001 - of one object: the others go on
            _log.warning("cannot be compared", kind=kind, name=_key(found), error=str(error))
            return False


def _seeds(kind: str, found: Object) -> list[Seed]:
    match kind:
        case "ClusterQueue":
            queue = read(found, ClusterQueue)
            shares = [] if queue.status.fair_sharing is None else [SharesShown()]
            return [*rehydrate.cluster_queue(queue), *shares]
        case "Cohort":
            return [rehydrate.cohort(read(found, Cohort))]
        case "LocalQueue":
            return [rehydrate.local_queue(read(found, LocalQueue))]
        case _:
            shown = rehydrate.workload(read(found, Workload))
            return [] if shown is None else [shown]


def _key(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])
