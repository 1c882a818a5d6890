"""One worker cluster that answers: the copies there, and how they are created and deleted.

Source: multikueue.md 1.1, 2.2, 2.6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dispatcher import api as calls
from dispatcher.adapters.copies import (
    deactivation_patch,
    is_copy_of_origin,
    workload_copy,
    workloads_of,
)
from dispatcher.informer import Informer, SizeLimit
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.workload import KIND as WORKLOAD
from tidegate.kinds import names
from tidegate.kube.ports import KubernetesApi


class Worker:
    """A connection; ``changed`` is called with the key of a changed Workload or its job."""

    def __init__(
        self,
        name: str,
        api: KubernetesApi,
        kinds: Sequence[JobKind[Any]],
        origin: str,
        changed: Callable[[str], None],
    ) -> None:
        self.name, self.api, self._origin = name, api, origin
        selector, allowance = f"{names.MANAGER}={origin}", SizeLimit()
        self.workloads = Informer(api, WORKLOAD.path(), changed, selector, allowance=allowance)
        self.jobs = {
            kind.path(): Informer(
                api,
                kind.path(),
                changed,
                selector,
                partial(workloads_of, kind),
                allowance=allowance,
            )
            for kind in kinds
        }

    async def open(self) -> None:
        """List all copies; see ``Informer.open``."""
        for informer in (self.workloads, *self.jobs.values()):
            await informer.open()

    async def follow(self) -> None:
        """Watch until any watch breaks; see ``Informer.follow``."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self.workloads, *self.jobs.values()):
                tasks.create_task(informer.follow())

    def jobs_sent_for(self, path: str, key: str) -> list[Object]:
        """Return the objects of a collection that were sent for a Workload, as last observed."""
        informer = self.jobs[path]
        return [informer.items[each] for each in informer.indexed.get(key, ())]

    async def create_copy(self, local: Object) -> bool:
        """Create a Workload's copy; return False if one of its name exists."""
        body = workload_copy(local, self._origin)
        path = WORKLOAD.path(local["metadata"]["namespace"])
        return await calls.create(self.api, path, body) is not None

    async def patch_copy(self, remote: Object, patch: Object) -> Object:
        """Patch a copy, and return the patched object."""
        return await calls.patch(self.api, _path(remote), patch, remote)

    async def deactivate(self, remote: Object, message: str, at: str) -> None:
        """Deactivate a copy, which stops its job; this is not repeated."""
        patch = deactivation_patch(remote, message, at)
        if patch is not None:
            await calls.patch(self.api, f"{_path(remote)}/status", patch, remote)

    async def delete_copy(self, key: str) -> None:
        """Delete a copy, even if it has finalizers."""
        namespace, _, name = key.partition("/")
        path = WORKLOAD.path(namespace, name)
        obj = await calls.read(self.api, path)
        if obj is None or not is_copy_of_origin(obj, self._origin):
            return
        finalizers = obj["metadata"].get("finalizers", [])
        if names.IN_USE in finalizers:
            remaining = [finalizer for finalizer in finalizers if finalizer != names.IN_USE]
            await calls.patch(self.api, path, {"metadata": {"finalizers": remaining}}, obj)
        await calls.delete(self.api, path, obj)

    async def find_job(
        self, kind: JobKind[Any], namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        """Return a job by name, with any origin; ``fresh``: as the API server has it now."""
        job = self.jobs[kind.path()].items.get(f"{namespace}/{name}")
        if job is not None and not fresh:
            return job
        return await calls.read(self.api, kind.path(namespace, name))

    async def create_job(self, kind: JobKind[Any], body: Object) -> Object | None:
        """Create a job; None if its name exists by now."""
        return await calls.create(self.api, kind.path(body["metadata"]["namespace"]), body)

    async def patch_job(self, kind: JobKind[Any], remote: Object, patch: Object) -> None:
        """Patch a remote job."""
        meta = remote["metadata"]
        await calls.patch(self.api, kind.path(meta["namespace"], meta["name"]), patch, remote)

    async def delete_job(self, kind: JobKind[Any], namespace: str, name: str) -> None:
        """Delete a remote job; jobs that others created stay."""
        job = await self.find_job(kind, namespace, name)
        if job is not None and is_copy_of_origin(job, self._origin):
            await calls.delete(self.api, kind.path(namespace, name), job)


def _path(remote: Object) -> str:
    meta = remote["metadata"]
    return WORKLOAD.path(meta["namespace"], meta["name"])
