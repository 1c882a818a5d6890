"""The end of a Workload: deleted with its job, or finished where its job left it behind."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from actuator.calls import Calls, pinned
from actuator.ordering.kept import let_go
from actuator.ordering.members import listed, parent_of
from actuator.projection import objects
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from actuator.writing import orphans
from tidegate.errors import ApiStatusError
from tidegate.jobs import workload
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS


@dataclass(frozen=True, slots=True)
class Removal:
    """Ends Workloads whose jobs are gone; errors as in ``Calls.patch``."""

    calls: Calls
    read_model: ReadModel

    async def remove(self, key: str) -> None:
        """Remove the Workload of a job that is gone or not managed any more."""
        shown = self.read_model.removed.get(key)
        if shown is None:
            return
        if shown.stays:
            with suppress(ApiStatusError):  # the rights over a kind may have gone with it
                await self.unguard(shown)
        else:
            await self._end(shown)
        if self.read_model.removed.get(key) is shown:
            del self.read_model.removed[key]

    async def _end(self, shown: WorkloadView) -> None:
        await self.unguard(shown)
        found = await self.calls.read(workload_path(shown.key))
        if found is not None and objects.goes_with(shown, found):  # else not made for this job
            if orphans.is_left(found) or shown.orphaned or await self._is_orphaning(shown):
                await self._leave(shown, found)
            else:
                await self._delete(shown, found)

    async def orphan(self, key: str) -> None:
        """Finish a Workload that a job left behind; not one whose job is there."""
        shown = self.read_model.workloads.get(key)
        found = await self.calls.read(workload_path(key))
        alone = found is not None and (shown is None or shown.direct)
        if found is not None and alone and orphans.is_left(found):
            await self._finish(found)

    async def unguard(self, shown: WorkloadView) -> None:
        """Take the finalizer that Kueue put on a job's objects off, for it is over."""
        kind = JOB_KINDS.get(shown.job.kind)
        if kind is None or not kind.finalizer:
            return
        await let_go(self.calls, kind, await self._objects(shown, kind))

    async def job(
        self, shown: WorkloadView, kind: JobKind[Any], *, recent: bool = False
    ) -> list[Object]:
        """Return the objects that are a workload's job; none if it is gone.

        ``recent``: as our own last write left it will do.
        """
        return list((await self._objects(shown, kind, recent=recent)).values())

    async def _objects(
        self, shown: WorkloadView, kind: JobKind[Any], *, recent: bool = False
    ) -> dict[str, Object]:
        """Return them by their paths."""
        if kind.members is not None and kind.members.parent is not None:
            return await parent_of(self.calls, kind, kind.members.parent, shown.job)
        if kind.members is not None:
            return await listed(self.calls, kind, shown.job)
        path = kind.path(shown.namespace, shown.job.name)
        found = self.calls.recent(path) if recent else None
        if found is None or found["metadata"]["uid"] != shown.uid:  # else a namesake of old
            found = await self.calls.read(path)
        return {path: found} if found is not None and found["metadata"]["uid"] == shown.uid else {}

    async def _leave(self, shown: WorkloadView, found: Object) -> None:
        """Finish a Workload, without the owner that left it.

        The garbage collector may not know the kind yet: then it leaves no Workload behind, and
        deletes it as soon as it does.
        """
        patch = orphans.without_owner(found, shown.uid)
        if patch:
            found = await self.calls.patch(workload_path(shown.key), pinned(patch, found))
        await self._finish(found)

    async def _finish(self, obj: Object) -> None:
        if orphans.is_finished(obj):
            return
        meta = obj["metadata"]
        path = workload_path(f"{meta['namespace']}/{meta['name']}")
        patch = pinned(orphans.finished(obj, self.read_model.now_us), obj)
        obj = await self.calls.patch(f"{path}/status", patch)
        if obj["metadata"].get("finalizers"):
            none: Object = {"metadata": {"finalizers": None}}
            await self.calls.patch(path, pinned(none, obj))

    async def _is_orphaning(self, shown: WorkloadView) -> bool:
        """Tell whether the job goes and leaves its Workload: then it is finished, not deleted."""
        kind = JOB_KINDS.get(shown.job.kind)
        if kind is None or kind.members is not None:
            return False
        return any(orphans.is_orphaning(one) for one in await self.job(shown, kind))

    async def _delete(self, shown: WorkloadView, obj: Object) -> None:
        if obj["metadata"].get("finalizers"):
            none = {"metadata": {"finalizers": None}}
            obj = await self.calls.patch(workload_path(shown.key), pinned(none, obj))
        meta = obj["metadata"]
        known = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        options = {"preconditions": known}
        await self.calls.delete(workload_path(shown.key), options)


def workload_path(key: str) -> str:
    """Return the path of a Workload object by its key."""
    namespace, _, name = key.partition("/")
    return workload.KIND.path(namespace, name)
