"""The objects that a workload's job is: one, or each pod of a group."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from dispatcher.api import read
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef


async def objects_of(api: KubernetesApi, job: ObjectRef) -> list[Object]:
    """Return the objects of a job as they are; none if it is gone.

    Raises:
        ApiStatusError: the server refused.
        ApiUnreachableError: no answer came.
    """
    kind = JOB_KINDS[job.kind]
    if kind.is_group:
        selector = f"{names.POD_GROUP_NAME}={job.name}"
        page = await read(api, kind.path(job.namespace), {"labelSelector": selector})
        found = [] if page is None else page.get("items") or []
        head = {"apiVersion": kind.api_version, "kind": kind.kind}
        return [{**head, **one} for one in found if not is_going(one)]
    one = await read(api, kind.path(quote(job.namespace), quote(job.name)))
    return [] if one is None or one["metadata"]["uid"] != job.uid or is_going(one) else [one]


def is_going(obj: Object) -> bool:
    """Tell whether an object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def kind_of(job: ObjectRef) -> JobKind[Any]:
    """Return a job's kind."""
    return JOB_KINDS[job.kind]
