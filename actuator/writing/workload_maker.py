"""Make Workload objects: of a job as it is, or a variant of its parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from actuator.calls import Calls
from actuator.kueue_metrics import KueueMetrics
from actuator.ordering.job_objects import is_being_deleted, with_referenced_objects
from actuator.projection import objects, siblings
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from actuator.writing.removal import WorkloadRemover, workload_path
from tidegate.errors import ApiStatusError, UndecodableError
from tidegate.jobs import workload
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import job_kind


@dataclass(frozen=True, slots=True)
class WorkloadMaker:
    """Makes Workloads; errors as in ``Calls.create``."""

    calls: Calls
    read_model: ReadModel
    removal: WorkloadRemover
    label_keys: Sequence[str]  # of labels that a Workload takes over from its job
    kueue: KueueMetrics

    async def create_workload(self, view: WorkloadView) -> Object | None:
        """Create a Workload and return it; None: its job is gone, or it is not ours to make."""
        kind = job_kind(view.job.kind)
        if view.prebuilt and kind.is_group:
            await self._release_replaced_pods(view)
        if not view.made or view.phase == "finished" or not (job := await self.current_job(view)):
            return None
        if view.parent:
            variant = await self._create_variant(view)
        else:
            variant = objects.workload_object(
                view, job, kind, self.read_model.priorities, self.label_keys
            )
        created = await self.calls.create(workload.KIND.path(view.namespace), variant)
        if not view.parent:
            self.kueue.observe_creation(kind, job, created)
        return created

    async def _release_replaced_pods(self, view: WorkloadView) -> None:
        """Release the pods of a group that wait to be replaced, if its Workload was deleted."""
        if await self.calls.read(workload_path(view.key)) is None:
            await self.removal.remove_finalizers(view)

    async def _create_variant(self, view: WorkloadView) -> Object:
        """Return a variant as it is made of its parent, which is made first."""
        above = self.read_model.workloads.get(view.parent)
        parent = await self.calls.read(workload_path(view.parent))
        if parent is None and above is not None:
            parent = await self.create_workload(above)
        if parent is None:
            raise ApiStatusError(HTTPStatus.NOT_FOUND, f"There is no Workload {view.parent}.")
        return siblings.variant_object(
            view, parent, objects.wanted_spec(view, self.read_model.priorities)
        )

    async def current_job(self, view: WorkloadView) -> Object | None:
        """Return a workload's job as it is, or its pods; None: it is gone, or cannot be read."""
        kind = job_kind(view.job.kind)
        try:
            present = [
                await with_referenced_objects(self.calls, kind, obj)
                for obj in await self.removal.job_objects(view, kind, recent=True)
                if kind.is_group or "deletionTimestamp" not in obj["metadata"]
            ]
        except UndecodableError:  # ingest reports the error on the job
            return None
        if not any(not is_being_deleted(obj) for obj in present):
            await self._release_replaced_pods(view)
            return None
        return {"items": present} if kind.is_group else present[0]
