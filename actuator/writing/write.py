"""What shall be shown, written: each object read, compared, and patched only where it differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from actuator.calls import CACHED, Calls, pinned
from actuator.ordering.kept import is_leaving
from actuator.ordering.referenced import with_beside
from actuator.projection import activity, check_states, objects, slices, variants
from actuator.projection.queues import statuses as queues
from actuator.projection.queues.counts import Numbers
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from actuator.writing.removal import Removal, workload_path
from tidegate.errors import ApiStatusError, UndecodableError
from tidegate.jobs import workload
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import job_kind
from tidegate.jobs.templates.merging import difference
from tidegate.kinds import names

KUEUE = f"/apis/{names.API_VERSION}"


@dataclass(frozen=True, slots=True)
class Writer:
    """Brings objects to what the board shows; errors as in ``Calls.patch``."""

    calls: Calls
    read_model: ReadModel
    label_keys: Sequence[str] = ()  # of labels that a Workload takes over from its job

    @property
    def removal(self) -> Removal:
        """Return what ends Workloads."""
        return Removal(self.calls, self.read_model)

    async def workload(self, key: str, *, again: bool = False) -> None:
        """Make, change or remove a Workload object; ``again`` after that has failed."""
        shown = self.read_model.workloads.get(key)
        if shown is None:
            await self.removal.remove(key)
            return
        if shown.phase == "finished":
            await self.removal.unguard(shown)
        path = workload_path(shown.key)
        left = self.calls.recent(path)
        if left is not None and objects.may_be_shown(shown, left):
            await self._bring(shown, path, left)
        else:
            await self._look_up(shown, path, fresh=again)

    async def _look_up(self, shown: WorkloadView, path: str, *, fresh: bool) -> None:
        """Bring a Workload to what it shall be, at first as the API server's cache has it.

        A patch tells whether the cache was behind, as that of a busy server is; that there is
        nothing to do has to be true.
        """
        made = None if fresh or shown.object_uid else await self._made_first(shown)
        cached = made or (None if fresh else await self.calls.read(path, CACHED))
        if cached is not None and await self._bring(shown, path, cached):
            return
        found = await self.calls.read(path) or await self._make(shown)
        if found is not None:  # else the job is gone, or somebody deleted what he made
            await self._bring(shown, path, found)

    async def _made_first(self, shown: WorkloadView) -> Object | None:
        """Make a Workload that was never seen; None: it is there, or it is not ours to make."""
        try:
            return await self._make(shown)
        except ApiStatusError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return None

    async def _bring(self, shown: WorkloadView, path: str, obj: Object) -> bool:
        """Patch a Workload where it differs; tell whether it did."""
        if not objects.may_be_shown(shown, obj):
            return False
        before, shown.object_uid = obj, obj["metadata"]["uid"]
        if slices.outgrows(shown, obj):
            obj = await self.calls.patch(f"{path}/status", pinned(slices.unreserved(obj), obj))
        about = self.about_patch(shown, obj)
        if about:
            obj = await self.calls.patch(path, pinned(about, obj))
        status = self.status_patch(shown, obj)
        if status:
            obj = await self.calls.patch(f"{path}/status", pinned(status, obj))
        return obj is not before

    async def queue(self, kind: str, key: str) -> None:
        """Write the status of a ClusterQueue, a Cohort or a LocalQueue."""
        path = queue_path(kind, key)
        if not self._is_defined(kind, key):
            return
        found = self.calls.recent(path) or await self.calls.read(path)
        patch = {} if found is None else self.queue_patch(kind, key, found)
        if found is not None and patch:
            await self.calls.patch(f"{path}/status", pinned(patch, found))

    def queue_patch(self, kind: str, key: str, obj: Object) -> Object:
        """Return what the status of a queue or cohort lacks; empty if nothing."""
        if not self._is_defined(kind, key):
            return {}
        status = obj.get("status", {})
        match kind:
            case "ClusterQueue":
                wanted = self._cluster_queue(key, status)
            case "Cohort":
                wanted = queues.cohort_status(self.read_model.shares.of_cohort(key), status)
            case _:
                wanted = self._local_queue(key, status)
        return difference({"status": status}, {"status": wanted})

    async def event(self, obj: Object) -> None:
        """Make a Kubernetes Event; one that is there was told before."""
        path = f"/api/v1/namespaces/{obj['metadata']['namespace']}/events"
        try:
            await self.calls.tell(path, obj)
        except ApiStatusError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise

    def about_patch(self, shown: WorkloadView, obj: Object) -> Object:
        """Return what metadata and spec of a Workload lack; empty if nothing."""
        meta = obj["metadata"]
        wanted: Object = {"metadata": {**meta}, "spec": {**obj["spec"]}}
        annotations = meta.get("annotations", {})
        marks = {**slices.marks(shown), **annotations}
        if not shown.direct:  # else its status says so
            marks = {names.DECISION: shown.decision, **marks}
        else:
            marks = {**objects.owned_by(meta), **marks}
        if shown.elastic and shown.phase != "finished":
            marks[names.GENERATION] = str(shown.generation)
        wanted["metadata"]["annotations"] = marks
        finalizers = [one for one in meta.get("finalizers", ()) if one != names.IN_USE]
        if finalizers != meta.get("finalizers", []):
            wanted["metadata"]["finalizers"] = finalizers
        if shown.prebuilt:
            wanted["metadata"] |= objects.ownership(shown, meta)
        if shown.elastic and shown.phase != "finished":
            wanted["spec"]["podSets"] = slices.counted(obj["spec"]["podSets"], shown)
        if not shown.direct:
            told = objects.wanted_spec(shown, self.read_model.priorities)
            wanted["spec"] |= objects.with_class_kept(told, obj["spec"])
        variants.put(wanted, shown)
        activity.put(wanted, shown, obj)
        return difference({"metadata": meta, "spec": obj["spec"]}, wanted)

    def status_patch(self, shown: WorkloadView, obj: Object) -> Object:
        """Return what a Workload's status lacks; empty if nothing.

        One that its user has finished stays as it was then: what was decided meanwhile is void.
        """
        if objects.is_over(shown, obj):
            return {}
        status = obj.get("status", {})
        return difference({"status": status}, {"status": self._status(shown, obj, status)})

    def along(self, key: str, obj: Object, patch: Object) -> Object:
        """Return the patch of a direct Workload's order with all that its status shall show."""
        shown = self.read_model.workloads.get(key)
        if shown is None or not shown.direct or self.read_model.fills_in:
            return patch
        status = obj.get("status", {})
        wanted = self._status(shown, obj, {**status, **patch["status"]})
        return difference({"status": status}, {"status": wanted})

    def _status(self, shown: WorkloadView, found: Object, status: Object) -> Object:
        wanted = objects.workload_status(shown, status)
        objects.put_order(wanted, shown)
        check_states.put(wanted, shown, found)
        return wanted

    def is_shown(self, shown: WorkloadView, found: Object) -> bool:
        """Tell whether a Workload object lacks nothing of what it shall show."""
        return not (self.about_patch(shown, found) or self.status_patch(shown, found))

    async def _make(self, shown: WorkloadView) -> Object | None:
        if not shown.made or shown.phase == "finished":
            return None
        kind = job_kind(shown.job.kind)
        try:
            there = [
                await with_beside(self.calls, kind, one)
                for one in await self.removal.job(shown, kind, recent=True)
                if kind.is_group or "deletionTimestamp" not in one["metadata"]
            ]
        except UndecodableError:  # ingest tells on the job what is wrong with it
            return None
        if not any(not is_leaving(one) for one in there):
            await self._bereft(shown)
            return None
        job = {"items": there} if kind.is_group else there[0]
        if shown.parent:
            made = await self._variant(shown)
        else:
            made = objects.workload(shown, job, kind, self.read_model.priorities, self.label_keys)
        return await self.calls.create(workload.KIND.path(shown.namespace), made)

    async def _bereft(self, shown: WorkloadView) -> None:
        """Let the pods of a group go that wait to be replaced, if somebody deleted its Workload."""
        if await self.calls.read(workload_path(shown.key)) is None:
            await self.removal.unguard(shown)

    async def _variant(self, shown: WorkloadView) -> Object:
        """Return a variant as it is made of its parent, which is made first."""
        above = self.read_model.workloads.get(shown.parent)
        parent = await self.calls.read(workload_path(shown.parent))
        if parent is None and above is not None:
            parent = await self._make(above)
        if parent is None:
            raise ApiStatusError(HTTPStatus.NOT_FOUND, f"There is no Workload {shown.parent}.")
        return variants.made(shown, parent, objects.wanted_spec(shown, self.read_model.priorities))

    def _is_defined(self, kind: str, key: str) -> bool:
        read_model = self.read_model
        match kind:
            case "ClusterQueue":
                return key in read_model.cluster_queues
            case "Cohort":
                return key in read_model.cohorts
            case _:
                return key in read_model.local_queues

    def _cluster_queue(self, name: str, status: Object) -> Object:
        read_model = self.read_model
        return queues.cluster_queue_status(
            read_model.cluster_queues[name].spec,
            read_model.numbers.get(name, Numbers()),
            read_model.readiness.get(name),
            read_model.shares.of_queue(name),
            status,
        )

    def _local_queue(self, key: str, status: Object) -> Object:
        read_model, defined = self.read_model, self.read_model.local_queues[key]
        queue = read_model.cluster_queues.get(defined.spec.cluster_queue)
        wanted = queues.local_queue_status(
            defined,
            None if queue is None else queue.spec,
            read_model.local_numbers.get(key, Numbers()),
            read_model.readiness.get(defined.spec.cluster_queue),
            status,
        )
        return read_model.consumption.put(key, wanted)


def queue_path(kind: str, key: str) -> str:
    """Return the path of a ClusterQueue, a Cohort or a LocalQueue."""
    namespace, _, name = key.rpartition("/")
    inside = f"namespaces/{namespace}/" if namespace else ""
    return f"{KUEUE}/{inside}{kind.lower()}s/{name}"
