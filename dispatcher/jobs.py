"""The job of a workload, as the manager cluster has it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from dispatcher.api import read
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.serving.members import parent_name, parent_uid
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef


async def object_of(api: KubernetesApi, job: ObjectRef) -> Object | None:
    """Return the object of a job as it is; None if it is gone or going.

    Raises:
        ApiStatusError: the server refused.
        ApiUnreachableError: no answer came.
    """
    obj = await read(api, kind_of(job).path(quote(job.namespace), quote(parent_name(job))))
    if obj is None or obj["metadata"]["uid"] != parent_uid(job) or is_being_deleted(obj):
        return None
    return obj


def is_being_deleted(obj: Object) -> bool:
    """Return whether an object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def kind_of(job: ObjectRef) -> JobKind[Any]:
    """Return a job's kind."""
    return JOB_KINDS[job.kind]
