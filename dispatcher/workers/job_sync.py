"""Create a job's copy on a worker cluster, copy its status back, and delete the copy.

Each call is one pass from what is there, and may be repeated.

Source: multikueue.md 2.6, 3.1, 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, TypeAlias

from dispatcher import api as calls
from dispatcher.adapters.copies import is_copy_of_job, is_copy_of_origin, workload_of
from dispatcher.adapters.jobs import DEFERRED, remote_job, spec_patch, status_patch, suspended_patch
from dispatcher.adapters.slices import Counts, counts_of, joining_patch, with_size
from dispatcher.jobs import kind_of, object_of
from dispatcher.workers.worker import Worker
from tidegate.errors import ApiStatusError
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.serving.members import parent_name
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef
from tidegate.service.logs import get_log

Found: TypeAlias = Literal["there", "later", "gone", "foreign"]
"""A job's state on a worker: to be reconciled again, or its name is taken by another job."""
_REFUSED = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
"""Answers to a status that will never be taken: it makes no sense, or contradicts another one."""
_log = get_log("dispatch")
_PATCHES_MAX = 2
"""Of a status: a pod that runs again first loses the containers that had ended."""


@dataclass(frozen=True, slots=True)
class JobSyncer:
    """``home`` is the API server of the cluster that decides; errors as in ``dispatcher.api``."""

    home: KubernetesApi
    origin: str

    async def sync(
        self, worker: Worker, job: ObjectRef, key: str, counts: Counts, *, ended: bool
    ) -> tuple[Found, int]:
        """Have a job there, and its status here; the second is the version of the one here.

        A job that ended or is to stop is not created again. An elastic one gets ``counts`` pods.
        """
        local = await object_of(self.home, job)
        if local is None:
            return "gone", 0
        kind, meta = kind_of(job), local["metadata"]
        remote = await worker.find_job(kind, meta["namespace"], meta["name"], fresh=ended)
        if remote is None:
            if ended:
                return "gone", int(meta["resourceVersion"])
            body = remote_job(kind, local, key.partition("/")[2], self.origin)
            body = with_size(kind.name, body, local, counts)
            outcome = await self._create(worker, kind, body, job, key)
            return outcome, int(meta["resourceVersion"])
        if is_copy_of_origin(remote, self.origin) and not is_copy_of_job(kind, remote, job, key):
            return "later", int(meta["resourceVersion"])  # one of its name of before still goes
        result, version = await self.copy_status(kind, local, remote)
        if result == "there" and not ended:
            name = key.partition("/")[2]
            changed = spec_patch(kind, local, remote) or joining_patch(
                kind.name, local, remote, name, counts
            )
            if changed is not None:
                await worker.patch_job(kind, remote, changed)
        return result, version

    async def _create(
        self, worker: Worker, kind: JobKind[Any], body: Object, job: ObjectRef, key: str
    ) -> Found:
        """Create a remote job; an existing one may have been created for another group."""
        if await worker.create_job(kind, body) is not None:
            return "there"
        meta = body["metadata"]
        remote = await worker.find_job(kind, meta["namespace"], meta["name"], fresh=True)
        if remote is None:
            return "later"
        if not is_copy_of_origin(remote, self.origin):
            return "foreign"
        return "there" if is_copy_of_job(kind, remote, job, key) else "later"

    async def sync_status(self, worker: Worker, job: ObjectRef) -> None:
        """Copy back the status of a job that runs on the worker for another slice."""
        await self._local_and_remote(worker, job)

    async def scale_down(self, worker: Worker, job: ObjectRef, key: str, workload: Object) -> None:
        """Scale down a remote job that still belongs to this slice."""
        local, remote = await self._local_and_remote(worker, job)
        if local is None or remote is None or workload_of(remote) != key:
            return
        kind, name = kind_of(job), key.partition("/")[2]
        changed = joining_patch(kind.name, local, remote, name, counts_of(workload))
        if changed is not None:
            await worker.patch_job(kind, remote, changed)

    async def _local_and_remote(
        self, worker: Worker, job: ObjectRef
    ) -> tuple[Object | None, Object | None]:
        """Return a job here and there, the latter if it was sent and its status is shown here."""
        local = await object_of(self.home, job)
        if local is None:
            return None, None
        kind, meta = kind_of(job), local["metadata"]
        remote = await worker.find_job(kind, meta["namespace"], meta["name"])
        if remote is None:
            return local, None
        result, _ = await self.copy_status(kind, local, remote)
        return local, remote if result == "there" else None

    async def delete_remote_job(self, worker: Worker, job: ObjectRef, key: str) -> bool:
        """Delete a remote job; return whether any of its objects is left."""
        kind, name = kind_of(job), parent_name(job)
        remote = await worker.find_job(kind, job.namespace, name)
        if remote is not None and is_copy_of_job(kind, remote, job, key):
            await worker.delete_job(kind, job.namespace, name)
        remote = worker.jobs[kind.path()].items.get(f"{job.namespace}/{name}")
        return remote is not None and is_copy_of_job(kind, remote, job, key)

    async def copy_status(
        self, kind: JobKind[Any], local: Object, remote: Object
    ) -> tuple[Found, int]:
        """Copy the status of a remote object to the one here; see ``sync``."""
        for _ in range(_PATCHES_MAX):
            if not is_copy_of_origin(remote, self.origin):
                return "foreign", _version(local)
            patch = status_patch(kind, local, remote)
            deferred = patch == DEFERRED
            body = suspended_patch(local, remote) if deferred else patch
            after = await self._patch_status(kind, local, body) if isinstance(body, dict) else None
            local = after or local
            if deferred:
                return "later", _version(local)
            if after is None:
                break
        return "there", _version(local)

    async def _patch_status(self, kind: JobKind[Any], local: Object, body: Object) -> Object | None:
        """Patch the status of the object here; None: it will never be taken.

        What follows from the copy goes on all the same: else its end would free no quota here.
        """
        meta = local["metadata"]
        path = kind.path(meta["namespace"], meta["name"])
        try:
            return await calls.patch(self.home, f"{path}/status", body, local)
        except ApiStatusError as error:
            if error.status not in _REFUSED:
                raise
            _log.warning("status not shown", object=path, error=str(error))
            return None


def _version(local: Object) -> int:
    return int(local["metadata"]["resourceVersion"])
