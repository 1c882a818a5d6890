"""The owners of an object: the chain of its controllers, read from the API server."""

from __future__ import annotations

from typing import Any

from actuator.calls import Calls
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta, OwnerReference

_DEPTH_MAX = 10
"""Source: behaviour.md 15.1."""


class Owners:
    """Finds one job above the objects that its controllers made; each of those is read once."""

    def __init__(self, calls: Calls, job: str) -> None:
        self._calls, self._job = calls, job
        self._known = dict[str, OwnerReference | None]()  # by the uid of a controller

    async def job_above(self, meta: ObjectMeta) -> OwnerReference | None:
        """Return the reference to the job from what it controls, at whatever distance.

        None: the object is not the job's. Errors as in ``Calls.read``.
        """
        passed, result = list[str](), None
        for _ in range(_DEPTH_MAX):
            owner = meta.controller()
            if owner is None or owner.uid in (self._job, *self._known):
                result = None if owner is None else self._known.get(owner.uid, owner)
                break
            passed.append(owner.uid)
            above = await read_owner(self._calls, meta.namespace, owner)
            if above is None:
                break
            meta = read(above[1]["metadata"], ObjectMeta)
        self._known |= dict.fromkeys(passed, result)
        return result


async def read_owner(
    calls: Calls, namespace: str, owner: OwnerReference
) -> tuple[JobKind[Any], Object] | None:
    """Return an owner with its kind; None if it is of no known kind, or is there no more."""
    group, _, _ = owner.api_version.rpartition("/")
    kinds = (
        known_kind
        for known_kind in JOB_KINDS.values()
        if (known_kind.group, known_kind.kind) == (group, owner.kind)
    )
    kind = next((candidate for candidate in kinds if candidate.members is None), None)
    obj = None if kind is None else await calls.read(kind.path(namespace, owner.name))
    if kind is None or obj is None or obj["metadata"]["uid"] != owner.uid:
        return None
    return kind, obj
