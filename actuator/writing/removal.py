"""The end of a Workload: deleted with its job, or finished where its job left it behind.

Source: behaviour.md 8.7.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from actuator.calls import Calls, with_preconditions
from actuator.ordering.job_objects import list_members, pod_parent, remove_finalizers
from actuator.projection import objects
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from tidegate.errors import ApiStatusError
from tidegate.jobs import workload
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.workload import OWNER_NOT_FOUND, is_orphan
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta, true_condition
from tidegate.kinds.times import rfc3339


def is_orphaned(workload: Object) -> bool:
    """Return whether a Workload is what is left of a job."""
    return is_orphan(read(workload["metadata"], ObjectMeta))


def is_finished(workload: Object) -> bool:
    """Return whether a Workload is finished."""
    return true_condition(read(workload, Workload).status.conditions, "Finished") is not None


def _is_orphaning(job: Object) -> bool:
    """Return whether a job is being deleted in such a way that its Workload stays."""
    return read(job["metadata"], ObjectMeta).is_orphaning


def _owner_removal_patch(obj: Object, uid: str) -> Object:
    """Return the patch that takes an owner out, as the garbage collector does; empty: no need."""
    owners = obj["metadata"].get("ownerReferences", [])
    others = [owner for owner in owners if owner["uid"] != uid]
    return {"metadata": {"ownerReferences": others or None}} if others != owners else {}


def _finish_patch(obj: Object, at_us: int) -> Object:
    """Return the patch that marks a Workload finished; its admission stays."""
    condition = {
        "type": "Finished",
        "status": "True",
        "reason": OWNER_NOT_FOUND,
        "message": "Its job was deleted and left it behind.",
        "lastTransitionTime": rfc3339(at_us),
    }
    conditions = obj.get("status", {}).get("conditions", [])
    others = [condition for condition in conditions if condition["type"] != "Finished"]
    return {"status": {"conditions": [*others, condition]}}


@dataclass(frozen=True, slots=True)
class WorkloadRemover:
    """Ends Workloads of deleted jobs; errors as in ``Calls.patch``."""

    calls: Calls
    read_model: ReadModel

    async def remove_workload(self, key: str) -> None:
        """Remove the Workload of a job that is gone or not managed any more."""
        view = self.read_model.removed.get(key)
        if view is None:
            return
        if view.stays:
            with suppress(ApiStatusError):  # the rights over a kind may have gone with it
                await self.remove_finalizers(view)
        else:
            await self._remove_object(view)
        if self.read_model.removed.get(key) is view:
            del self.read_model.removed[key]

    async def _remove_object(self, view: WorkloadView) -> None:
        await self.remove_finalizers(view)
        obj = await self.calls.read(workload_path(view.key))
        if obj is not None and objects.may_be_deleted(view, obj):  # else not made for this job
            if is_orphaned(obj) or view.orphaned or await self._is_orphaning(view):
                await self._finish_without_owner(view, obj)
            else:
                await self._delete(view, obj)

    async def finish_orphan(self, key: str) -> None:
        """Finish an orphaned Workload; not one with an existing job."""
        view = self.read_model.workloads.get(key)
        obj = await self.calls.read(workload_path(key))
        if obj is None or not self.read_model.territory.is_own_workload(
            obj, self.read_model.local_queues
        ):
            return
        if (view is None or view.direct) and is_orphaned(obj):
            await self._finish(obj)

    async def remove_finalizers(self, view: WorkloadView) -> None:
        """Take the finalizer that Kueue put on a job's objects off, for it is over."""
        kind = JOB_KINDS.get(view.job.kind)
        if kind is None or not kind.finalizer:
            return
        await remove_finalizers(self.calls, kind, await self._job_objects_by_path(view, kind))

    async def job_objects(
        self, view: WorkloadView, kind: JobKind[Any], *, recent: bool = False
    ) -> list[Object]:
        """Return the objects that are a workload's job; none if it is gone.

        ``recent``: as our own last write left it will do.
        """
        return list((await self._job_objects_by_path(view, kind, recent=recent)).values())

    async def _job_objects_by_path(
        self, view: WorkloadView, kind: JobKind[Any], *, recent: bool = False
    ) -> dict[str, Object]:
        """Return them by their paths."""
        if kind.members is not None and kind.members.parent is not None:
            return await pod_parent(self.calls, kind, kind.members.parent, view.job)
        if kind.members is not None:
            return await list_members(self.calls, kind, view.job)
        path = kind.path(view.namespace, view.job.name)
        obj = self.calls.last_written(path) if recent else None
        if obj is None or obj["metadata"]["uid"] != view.uid:  # else a namesake of old
            obj = await self.calls.read(path)
        return {path: obj} if obj is not None and obj["metadata"]["uid"] == view.uid else {}

    async def _finish_without_owner(self, view: WorkloadView, obj: Object) -> None:
        """Finish a Workload, without the owner that left it.

        The garbage collector may not know the kind yet: then it leaves no Workload behind, and
        deletes it as soon as it does.
        """
        patch = _owner_removal_patch(obj, view.uid)
        if patch:
            obj = await self.calls.patch(workload_path(view.key), with_preconditions(patch, obj))
        await self._finish(obj)

    async def _finish(self, obj: Object) -> None:
        if is_finished(obj):
            return
        meta = obj["metadata"]
        path = workload_path(f"{meta['namespace']}/{meta['name']}")
        patch = with_preconditions(_finish_patch(obj, self.read_model.now_us), obj)
        obj = await self.calls.patch(f"{path}/status", patch)
        if obj["metadata"].get("finalizers"):
            none: Object = {"metadata": {"finalizers": None}}
            await self.calls.patch_blind(path, with_preconditions(none, obj))

    async def _is_orphaning(self, view: WorkloadView) -> bool:
        """Return whether the job goes and leaves its Workload: then it is finished, not deleted."""
        kind = JOB_KINDS.get(view.job.kind)
        if kind is None or kind.members is not None:
            return False
        return any(_is_orphaning(obj) for obj in await self.job_objects(view, kind))

    async def _delete(self, view: WorkloadView, obj: Object) -> None:
        if obj["metadata"].get("finalizers"):
            none = {"metadata": {"finalizers": None}}
            obj = await self.calls.patch(workload_path(view.key), with_preconditions(none, obj))
        meta = obj["metadata"]
        preconditions = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        options = {"preconditions": preconditions}
        await self.calls.delete(workload_path(view.key), options)


def workload_path(key: str) -> str:
    """Return the path of a Workload object by its key."""
    namespace, _, name = key.partition("/")
    return workload.KIND.path(namespace, name)
