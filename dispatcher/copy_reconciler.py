"""Reconcile one workload at one worker cluster: one pass from the observed objects.

Source: multikueue.md 2.2, 2.5, 2.6, 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dispatcher import api as calls
from dispatcher.adapters.copies import is_finished, priority_patch, read_copy
from dispatcher.adapters.slices import counts_of, scale_down_patch, with_counts
from dispatcher.jobs import is_being_deleted, kind_of
from dispatcher.targets import Target
from dispatcher.workers import groups
from dispatcher.workers.job_sync import Found, JobSyncer
from dispatcher.workers.worker import Worker
from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.jobs.kind import Object
from tidegate.jobs.workload import KIND as WORKLOAD
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a workload's copy on a cluster after a pass."""

    copy: RemoteCopy | None = None  # None: nothing
    version: int = 0
    job_version: int = 0  # of the job here once its last status was copied to it; 0: not known
    known: bool = True  # False: nothing is to be published yet
    later: bool = False  # to be looked at again soon, though nothing may change until then


@dataclass(frozen=True, slots=True)
class CopyReconciler:
    """Reconciles with the ledger's decisions; ``home`` is the manager cluster's API server."""

    home: KubernetesApi
    origin: str
    dispatched: Callable[[str, str], None]  # with ClusterQueue and cluster: a copy was made
    now: Callable[[], str]  # as Kubernetes writes it

    async def reconcile(
        self, worker: Worker, key: str, target: Target, *, shared: bool = False
    ) -> Outcome:
        """Reconcile a workload at a cluster, and return the state of its copy.

        ``shared``: another workload of the same object runs there: that stays.

        Raises:
            TidegateError: an API server refused, or did not answer.
        """
        if worker.name in target.leaving:
            return await self._delete_copy(worker, key, target, shared=shared)
        local = await self._local_workload(key, target)
        if worker.name == target.chosen:
            return await self._reconcile_job(worker, key, target, local)
        if local is None:
            return Outcome(known=False, later=True)  # it is not shown yet
        return await self._reconcile_copy(worker, key, target, local)

    async def _local_workload(self, key: str, target: Target) -> Object | None:
        namespace, _, name = key.partition("/")
        local = await calls.read(self.home, WORKLOAD.path(namespace, name))
        if local is None or not target.counts:
            return local
        return with_counts(local, target.counts, at_most=target.superseded)

    async def _delete_copy(
        self, worker: Worker, key: str, target: Target, *, shared: bool
    ) -> Outcome:
        group = kind_of(target.job).is_group
        if target.superseded:
            remains = False  # the job is another slice's by now
        elif group:
            remains = await groups.delete_group(self._job_syncer, worker, target.job, key)
        else:
            remains = not shared and await self._job_syncer.delete_remote_job(
                worker, target.job, key
            )
        if remains and not group:
            return Outcome(known=False, later=True)  # the job goes first
        await worker.delete_copy(key)
        remote = worker.workloads.items.get(key)  # others' finalizers may keep it for ever
        gone = not remains and (remote is None or is_being_deleted(remote))
        return Outcome() if gone else Outcome(known=False, later=True)

    async def _reconcile_copy(
        self, worker: Worker, key: str, target: Target, local: Object
    ) -> Outcome:
        remote = worker.workloads.items.get(key)
        if remote is None:
            if await worker.create_copy(local):
                self.dispatched(target.cluster_queue, worker.name)
            return Outcome(known=False, later=True)  # its watch reports it
        if is_being_deleted(remote):
            return Outcome(known=False, later=True)  # one of its name of before still goes
        remote = await _patch_mutable_fields(worker, local, remote)
        return _outcome_of(local, remote, foreign=False)

    async def _reconcile_job(
        self, worker: Worker, key: str, target: Target, local: Object | None
    ) -> Outcome:
        remote = worker.workloads.items.get(key)
        if remote is None and target.makes_copy and not target.superseded and local is not None:
            return await self._reconcile_copy(worker, key, target, local)
        if remote is None:
            return Outcome(known=not target.makes_copy, later=target.makes_copy)
        if local is not None and not (target.superseded and is_finished(remote)):
            if scale_down_patch(local, remote) is not None:
                # The job first: a copy with fewer pods than its job is one that is out of sync.
                await self._job_syncer.scale_down(worker, target.job, key, local)
            remote = await _patch_mutable_fields(worker, local, remote)
        if target.stopping:
            await worker.deactivate(remote, target.stopping, self.now())
        state = read_copy(local, remote, foreign=False, synced=False)
        waits = not (state.admitted_us or state.finished_us or target.stopping)
        if waits or target.superseded:
            await self._reconcile_slice(worker, key, target, local)
            return _outcome_of(local, remote, foreign=False)
        over = bool(state.finished_us or target.stopping)
        outcome, job_version = await self._sync_job(worker, target.job, key, local, ended=over)
        later, foreign = outcome == "later", outcome == "foreign"
        result = _outcome_of(
            local,
            remote,
            job=outcome in ("there", "later"),
            foreign=foreign,
            synced=over and not later and not foreign,
            later=later,
        )
        return replace(result, job_version=job_version) if over else result

    async def _reconcile_slice(
        self, worker: Worker, key: str, target: Target, local: Object | None
    ) -> None:
        """Reconcile a job that runs for one slice while another one is to replace it."""
        if target.superseded and local is not None:
            await self._job_syncer.scale_down(worker, target.job, key, local)
        elif target.makes_copy:
            await self._job_syncer.sync_status(worker, target.job)

    async def _sync_job(
        self, worker: Worker, job: ObjectRef, key: str, local: Object | None, *, ended: bool
    ) -> tuple[Found, int]:
        if kind_of(job).is_group:
            return await groups.sync_group(self._job_syncer, worker, job, key, ended=ended)
        counts = {} if local is None else counts_of(local)
        return await self._job_syncer.sync(worker, job, key, counts, ended=ended)

    @property
    def _job_syncer(self) -> JobSyncer:
        return JobSyncer(self.home, self.origin)


async def _patch_mutable_fields(worker: Worker, local: Object, remote: Object) -> Object:
    """Patch the mutable fields of a copy, and return the patched copy."""
    patch = priority_patch(local, remote) or scale_down_patch(local, remote)
    return remote if patch is None else await worker.patch_copy(remote, patch)


def _outcome_of(  # noqa: PLR0913 - what a pass may find
    local: Object | None,
    remote: Object,
    *,
    job: bool = False,
    foreign: bool,
    synced: bool = False,
    later: bool = False,
) -> Outcome:
    copy = read_copy(local, remote, job=job, foreign=foreign, synced=synced)
    version = int(remote["metadata"].get("resourceVersion", "0"))
    return Outcome(copy=copy, version=version, later=later)
