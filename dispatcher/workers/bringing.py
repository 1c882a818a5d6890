"""A job brought to a worker cluster, its status brought back, and the job taken away again.

Each call is one pass from what is there, and may be repeated.

Source: multikueue.md 2.6, 3.1, 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dispatcher import api as calls
from dispatcher.adapters.copies import is_ours
from dispatcher.adapters.jobs import DEFERRED, remote_job, spec_patch, status_patch
from dispatcher.jobs import kind_of, object_of
from dispatcher.workers.worker import Worker
from tidegate.jobs.kind import JobKind, Object
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef

Found: TypeAlias = Literal["there", "later", "gone", "foreign"]
"""How a job stands on a worker: it is to be looked at again, or one of others has its name."""
_PATCHES_MAX = 2
"""Of a status: a pod that runs again first loses the containers that had ended."""


@dataclass(frozen=True, slots=True)
class Bringer:
    """``home`` is the API server of the cluster that decides; errors as in ``dispatcher.api``."""

    home: KubernetesApi
    origin: str

    async def bring(
        self, worker: Worker, job: ObjectRef, key: str, *, ended: bool
    ) -> tuple[Found, int]:
        """Have a job there, and its status here; the second is the version of the one here.

        What ended, or shall stop, is not made again.
        """
        local = await object_of(self.home, job)
        if local is None:
            return "gone", 0
        kind, meta = kind_of(job), local["metadata"]
        remote = await worker.job(kind, meta["namespace"], meta["name"], fresh=ended)
        if remote is None:
            if ended:
                return "gone", int(meta["resourceVersion"])
            body = remote_job(kind, local, key.partition("/")[2], self.origin)
            remote = await worker.make_job(kind, body)
            return ("foreign" if remote is None else "there"), int(meta["resourceVersion"])
        result, version = await self.show(kind, local, remote)
        if result == "there" and not ended:
            changed = spec_patch(kind, local, remote)
            if changed is not None:
                await worker.change_job(kind, remote, changed)
        return result, version

    async def take_away(self, worker: Worker, job: ObjectRef) -> bool:
        """Delete a job that was sent there; return whether anything of it is left."""
        kind = kind_of(job)
        await worker.delete_job(kind, job.namespace, job.name)
        return f"{job.namespace}/{job.name}" in worker.jobs[kind.path()].items

    async def show(self, kind: JobKind[Any], local: Object, remote: Object) -> tuple[Found, int]:
        """Bring the status of an object there to the one here; see ``bring``."""
        for _ in range(_PATCHES_MAX):
            if not is_ours(remote, self.origin):
                return "foreign", _version(local)
            patch = status_patch(kind, local, remote)
            if patch == DEFERRED:
                return "later", _version(local)
            if patch is None:
                break
            assert isinstance(patch, dict)
            meta = local["metadata"]
            path = f"{kind.path(meta['namespace'], meta['name'])}/status"
            local = await calls.patch(self.home, path, patch, local)
        return "there", _version(local)


def _version(local: Object) -> int:
    return int(local["metadata"]["resourceVersion"])
