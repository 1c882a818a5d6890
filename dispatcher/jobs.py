"""The job of a workload, as the cluster has it that decides."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from dispatcher.api import read
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef


async def object_of(api: KubernetesApi, job: ObjectRef) -> Object | None:
    """Return a job as it is; None if it is gone or going.

    Raises:
        ApiStatusError: the server refused.
        ApiUnreachableError: no answer came.
    """
    obj = await read(api, kind_of(job).path(quote(job.namespace), quote(job.name)))
    return None if obj is None or obj["metadata"]["uid"] != job.uid or is_going(obj) else obj


def is_going(obj: Object) -> bool:
    """Return whether an object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def kind_of(job: ObjectRef) -> JobKind[Any]:
    """Return a job's kind."""
    return JOB_KINDS[job.kind]
