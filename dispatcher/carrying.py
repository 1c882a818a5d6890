"""What is done for one workload at one worker cluster: one pass from what is there.

Source: multikueue.md 2.2, 2.5, 2.6, 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dispatcher import api as calls
from dispatcher.adapters.copies import is_ours, priority_patch, read_copy
from dispatcher.adapters.jobs import DEFERRED, remote_job, spec_patch, status_patch
from dispatcher.jobs import kind_of, object_of
from dispatcher.targets import Target
from dispatcher.workers.worker import Worker
from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.workload import KIND as WORKLOAD
from tidegate.kube.ports import KubernetesApi


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a cluster has of a workload after a pass."""

    copy: RemoteCopy | None = None  # None: nothing
    version: int = 0
    job_version: int = 0  # of the job here once its last status was copied to it; 0: not known
    known: bool = True  # False: nothing is to be published yet
    later: bool = False  # to be looked at again soon, though nothing may change until then


@dataclass(frozen=True, slots=True)
class Carrier:
    """Carries out what the ledger wants; ``home`` is the API server of the cluster that decides."""

    home: KubernetesApi
    origin: str
    dispatched: Callable[[str, str], None]  # with ClusterQueue and cluster: a copy was made
    now: Callable[[], str]  # as Kubernetes writes it

    async def carry(self, worker: Worker, key: str, target: Target) -> Outcome:
        """Do what is to be done at a cluster, and return what is there then.

        Raises:
            TidegateError: an API server refused, or did not answer.
        """
        if worker.name in target.leaving:
            return await self._withdraw(worker, key, target)
        local = await self._local(key)
        if worker.name == target.chosen:
            return await self._run(worker, key, target, local)
        if local is None:
            return Outcome(known=False, later=True)  # it is not shown yet
        return await self._copy(worker, key, target, local)

    async def _local(self, key: str) -> Object | None:
        namespace, _, name = key.partition("/")
        return await calls.read(self.home, WORKLOAD.path(namespace, name))

    async def _withdraw(self, worker: Worker, key: str, target: Target) -> Outcome:
        kind, namespace, name = kind_of(target.job), key.partition("/")[0], target.job.name
        await worker.delete_job(kind, namespace, name)
        remains = f"{namespace}/{name}" in worker.jobs[kind.path()].items
        if remains:
            return Outcome(known=False, later=True)  # the job goes first
        await worker.withdraw(key)
        gone = key not in worker.workloads.items
        return Outcome() if gone else Outcome(known=False, later=True)

    async def _copy(self, worker: Worker, key: str, target: Target, local: Object) -> Outcome:
        remote = worker.workloads.items.get(key)
        if remote is None:
            if await worker.copy(local):
                self.dispatched(target.cluster_queue, worker.name)
            return Outcome(known=False, later=True)  # its watch reports it
        patch = priority_patch(local, remote)
        if patch is not None:
            await worker.reprioritize(remote, patch)
        return _outcome(local, remote, foreign=False)

    async def _run(self, worker: Worker, key: str, target: Target, local: Object | None) -> Outcome:
        remote = worker.workloads.items.get(key)
        if remote is None:
            return Outcome()
        if local is not None and (patch := priority_patch(local, remote)) is not None:
            await worker.reprioritize(remote, patch)
        if target.stopping:
            await worker.deactivate(remote, target.stopping, self.now())
        state = read_copy(local, remote, foreign=False, synced=False)
        if not (state.admitted_us or state.finished_us or target.stopping):
            return _outcome(local, remote, foreign=False)
        outcome, job_version = "gone", 0
        over = bool(state.finished_us or target.stopping)
        if (job := await object_of(self.home, target.job)) is not None:
            outcome, job_version = await self._synced(
                worker, kind_of(target.job), key, job, ended=over
            )
        later, foreign = outcome == "later", outcome == "foreign"
        result = _outcome(
            local,
            remote,
            job=outcome in ("there", "later"),
            foreign=foreign,
            synced=over and not later and not foreign,
            later=later,
        )
        return replace(result, job_version=job_version) if over else result

    async def _synced(
        self, worker: Worker, kind: JobKind[Any], key: str, local: Object, *, ended: bool
    ) -> tuple[str, int]:
        """Have one object there, and its status here: ``there``, ``later``, ``gone``, ``foreign``.

        What ended, or shall stop, is not made again. The second is the version of the one here.
        """
        meta = local["metadata"]
        version = int(meta["resourceVersion"])
        namespace, name = meta["namespace"], meta["name"]
        remote = await worker.job(kind, namespace, name, fresh=ended)
        if remote is None:
            if ended:
                return "gone", version
            body = remote_job(kind, local, key.partition("/")[2], self.origin)
            remote = await worker.make_job(kind, body)
            return ("foreign" if remote is None else "there"), version
        if not is_ours(remote, self.origin):
            return "foreign", version
        patch = status_patch(kind, local, remote)
        if patch == DEFERRED:
            return "later", version
        if patch is not None:
            assert isinstance(patch, dict)
            path = f"{kind.path(namespace, name)}/status"
            patched = await calls.patch(self.home, path, patch, local)
            version = int(patched["metadata"]["resourceVersion"])
        if not ended and (changed := spec_patch(kind, local, remote)) is not None:
            await worker.change_job(kind, remote, changed)
        return "there", version


def _outcome(  # noqa: PLR0913 - what a pass may find
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
