"""Write objects of the read model: each is read, compared, and patched only where it differs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from actuator.calls import CACHED, Calls, with_preconditions
from actuator.kueue_metrics import KueueMetrics
from actuator.projection import checks, objects, siblings
from actuator.projection.queues import statuses
from actuator.projection.queues.numbers import Numbers
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from actuator.writing.removal import WorkloadRemover, workload_path
from actuator.writing.workload_maker import WorkloadMaker
from tidegate.errors import ApiStatusError, UndecodableError
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import job_kind
from tidegate.jobs.templates.paths import merge_patch
from tidegate.kinds import names

KUEUE = f"/apis/{names.API_VERSION}"


@dataclass(frozen=True, slots=True)
class Writer:
    """Brings objects to what the board shows; errors as in ``Calls.patch``."""

    calls: Calls
    read_model: ReadModel
    kueue: KueueMetrics
    label_keys: Sequence[str] = ()  # of labels that a Workload takes over from its job

    @property
    def removal(self) -> WorkloadRemover:
        """Return what ends Workloads."""
        return WorkloadRemover(self.calls, self.read_model)

    @property
    def making(self) -> WorkloadMaker:
        """Return what makes Workloads of jobs."""
        return WorkloadMaker(self.calls, self.read_model, self.removal, self.label_keys, self.kueue)

    async def write_workload(self, key: str, *, again: bool = False) -> None:
        """Make, change or remove a Workload object; ``again`` after that has failed."""
        view = self.read_model.workloads.get(key)
        if view is None:
            await self.removal.remove_workload(key)
            return
        if view.phase == "finished":
            await self.removal.remove_finalizers(view)
        path = workload_path(view.key)
        recent = self.calls.last_written(path)
        if recent is not None and objects.may_be_shown(view, recent):
            await self._patch_workload(view, path, recent)
        else:
            await self._reconcile_workload(view, path, fresh=again)

    async def _reconcile_workload(self, view: WorkloadView, path: str, *, fresh: bool) -> None:
        """Patch a Workload to its desired state, at first as the API server's cache has it.

        The response to a patch shows whether the cache was behind, as that of a busy server is;
        that there is nothing to do has to be true.
        """
        created = None if fresh or view.object_uid else await self._create_if_never_seen(view)
        cached = created or (None if fresh else await self.calls.read(path, CACHED))
        if cached is not None and await self._patch_workload(view, path, cached):
            return
        obj = await self.calls.read(path) or await self.making.create_workload(view)
        if obj is not None:  # else the job is gone, or a user deleted the object
            await self._patch_workload(view, path, obj)

    async def _create_if_never_seen(self, view: WorkloadView) -> Object | None:
        """Make a Workload that was never seen; None: it is there, or it is not ours to make."""
        try:
            return await self.making.create_workload(view)
        except ApiStatusError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return None

    async def _patch_workload(self, view: WorkloadView, path: str, obj: Object) -> bool:
        """Patch a Workload where it differs; return whether it did."""
        if not objects.may_be_shown(view, obj):
            return False
        before, view.object_uid = obj, obj["metadata"]["uid"]
        if view.renews:
            obj = await self._renew_podsets(view, path, obj)
        if siblings.needs_more_than_reserved(view, obj):
            obj = await self.calls.patch(
                f"{path}/status", with_preconditions(siblings.release_patch(obj), obj)
            )
        if checks.shows_other_cluster(view, obj):
            obj = await self.calls.patch(f"{path}/status", with_preconditions(checks.NOWHERE, obj))
        about = self.metadata_patch(view, obj)
        if about:
            obj = await self.calls.patch(path, with_preconditions(about, obj))
        status = self.status_patch(view, obj)
        if status:
            await self.calls.patch_blind(f"{path}/status", with_preconditions(status, obj))
        return bool(status) or obj is not before

    async def write_queue_status(self, kind: str, key: str) -> None:
        """Write the status of a ClusterQueue, a Cohort or a LocalQueue."""
        path = queue_path(kind, key)
        if not self._is_defined(kind, key):
            return
        obj = self.calls.last_written(path) or await self.calls.read(path)
        patch = {} if obj is None else self.queue_patch(kind, key, obj)
        if obj is not None and patch:
            await self.calls.patch_blind(f"{path}/status", with_preconditions(patch, obj))

    def queue_patch(self, kind: str, key: str, obj: Object) -> Object:
        """Return what the status of a queue or cohort lacks; empty if nothing."""
        if not self._is_defined(kind, key):
            return {}
        status = obj.get("status", {})
        match kind:
            case "ClusterQueue":
                desired = self._cluster_queue_status(key, status)
            case "Cohort":
                desired = statuses.cohort_status(self.read_model.shares.of_cohort(key), status)
            case _:
                desired = self._local_queue_status(key, status)
        return merge_patch({"status": status}, {"status": desired})

    async def create_event(self, obj: Object) -> None:
        """Create a Kubernetes Event; an existing one is left."""
        path = f"/api/v1/namespaces/{obj['metadata']['namespace']}/events"
        try:
            await self.calls.create_blind(path, obj)
        except ApiStatusError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise

    def metadata_patch(self, view: WorkloadView, obj: Object) -> Object:
        """Return what metadata and spec of a Workload lack; empty if nothing."""
        meta = {"annotations": {}, **obj["metadata"]}
        desired: Object = {"metadata": {**meta}, "spec": {**obj["spec"]}}
        marks = {**siblings.slice_annotations(view), **meta["annotations"]}
        if not view.direct:  # else its status has it
            marks = {names.DECISION: view.decision, **marks}
        else:
            marks = {**objects.owner_mark(meta), **marks}
        if view.elastic and view.phase != "finished":
            marks[names.GENERATION] = str(view.generation)
        desired["metadata"]["annotations"] = marks
        finalizers = [
            finalizer for finalizer in meta.get("finalizers", ()) if finalizer != names.IN_USE
        ]
        if finalizers != meta.get("finalizers", []):
            desired["metadata"]["finalizers"] = finalizers
        if view.prebuilt:
            desired["metadata"] |= objects.ownership_patch(view, meta)
        if view.elastic and view.phase != "finished":
            desired["spec"]["podSets"] = siblings.podsets_with_counts(obj["spec"]["podSets"], view)
        if not view.direct:
            spec = objects.wanted_spec(view, self.read_model.priorities)
            desired["spec"] |= objects.without_unknown_priority(spec, obj["spec"])
        siblings.set_variant_metadata(desired, view)
        _set_inactive(desired, view, obj)
        return merge_patch({"metadata": meta, "spec": obj["spec"]}, desired)

    def status_patch(self, view: WorkloadView, obj: Object) -> Object:
        """Return what a Workload's status lacks; empty if nothing.

        One that its user has finished stays as it was then: what was decided meanwhile is void.
        """
        if objects.is_finished(view, obj):
            return {}
        status = obj.get("status", {})
        return merge_patch({"status": status}, {"status": self._status(view, obj, status)})

    def order_status_patch(self, key: str, obj: Object, patch: Object) -> Object:
        """Return the patch of a direct Workload's order with its whole desired status."""
        view = self.read_model.workloads.get(key)
        if view is None or not view.direct or self.read_model.fills_in:
            return patch
        status = obj.get("status", {})
        desired = self._status(view, obj, {**status, **patch["status"]})
        return merge_patch({"status": status}, {"status": desired})

    def _status(self, view: WorkloadView, current: Object, status: Object) -> Object:
        desired = objects.workload_status(view, status)
        objects.set_start_requested(desired, view)
        checks.set_check_states(desired, view, current)
        return desired

    def is_shown(self, view: WorkloadView, obj: Object) -> bool:
        """Return whether a Workload object has its whole desired status."""
        return not (view.renews or self.metadata_patch(view, obj) or self.status_patch(view, obj))

    async def _renew_podsets(self, view: WorkloadView, path: str, obj: Object) -> Object:
        """Bring a Workload's podsets to what its job asks for now; it holds no quota for others."""
        job = await self.making.current_job(view)
        podsets = before = obj["spec"]["podSets"]
        with suppress(UndecodableError):  # ingest reports the error on the job
            podsets = before if job is None else job_kind(view.job.kind).podsets(job)
        patch = merge_patch({"podSets": before}, {"podSets": podsets})
        if patch and siblings.is_reserved(obj):
            obj = await self.calls.patch(
                f"{path}/status", with_preconditions(siblings.release_patch(obj), obj)
            )
        obj = (
            await self.calls.patch(path, with_preconditions({"spec": patch}, obj)) if patch else obj
        )
        view.renews = view.stale = False
        return obj

    def _is_defined(self, kind: str, key: str) -> bool:
        read_model = self.read_model
        match kind:
            case "ClusterQueue":
                return key in read_model.cluster_queues
            case "Cohort":
                return key in read_model.cohorts
            case _:
                defined = read_model.local_queues.get(key)
                leads_here = read_model.territory.is_own
                return defined is not None and leads_here(defined.spec.cluster_queue)

    def _cluster_queue_status(self, name: str, status: Object) -> Object:
        read_model = self.read_model
        return statuses.cluster_queue_status(
            read_model.cluster_queues[name].spec,
            read_model.numbers.cluster_queues.get(name, Numbers()),
            read_model.readiness.get(name),
            read_model.shares.of_queue(name),
            status,
        )

    def _local_queue_status(self, key: str, status: Object) -> Object:
        read_model, defined = self.read_model, self.read_model.local_queues[key]
        queue = read_model.cluster_queues.get(defined.spec.cluster_queue)
        desired = statuses.local_queue_status(
            defined,
            None if queue is None else queue.spec,
            read_model.numbers.local_queues.get(key, Numbers()),
            read_model.readiness.get(defined.spec.cluster_queue),
            status,
        )
        return read_model.consumption.with_consumption(key, desired)


def _set_inactive(desired: Object, view: WorkloadView, obj: Object) -> None:
    """Write once that a workload was deactivated: later values of the field are its owner's.

    The decision is beside it. Both together show whether an active Workload was activated
    since, or not yet deactivated.
    """
    if not view.deactivated:
        return
    noted = obj["metadata"].get("annotations", {}).get(names.DEACTIVATED, "")
    written = noted == view.deactivated_by != ""
    desired["spec"]["active"] = obj["spec"].get("active", True) if written else False
    desired["metadata"]["annotations"][names.DEACTIVATED] = view.deactivated_by


def queue_path(kind: str, key: str) -> str:
    """Return the path of a ClusterQueue, a Cohort or a LocalQueue."""
    namespace, _, name = key.rpartition("/")
    inside = f"namespaces/{namespace}/" if namespace else ""
    return f"{KUEUE}/{inside}{kind.lower()}s/{name}"
