"""The objects that a job refers to, which say what its pods are like."""

from __future__ import annotations

from typing import Any

from actuator.calls import Calls
from tidegate.jobs.kind import JobKind, Object


async def with_beside(calls: Calls, kind: JobKind[Any], job: Object) -> Object:
    """Return a job with the objects that it refers to, as far as they are there.

    Raises:
        UndecodableError: what it refers to makes no sense.
        ApiStatusError, ApiUnreachableError: as in ``Calls.read``.
    """
    paths = kind.refers(job)
    objects = [await calls.read(path) for path in paths]
    return {**job, "beside": [obj for obj in objects if obj is not None]} if paths else job
