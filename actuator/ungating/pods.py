"""Pods with scheduling gates, and the jobs above them by the chain of their controllers."""

from __future__ import annotations

from typing import Any

from actuator.calls import Calls
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.pods.pod_state import is_finished
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta, OwnerReference
from tidegate.kinds.pods import Pod

_DEPTH_MAX = 10
"""Source: behaviour.md 15.1."""


def has_gate(pod: Pod, gate: str) -> bool:
    """Return whether a pod has a gate."""
    return any(scheduling_gate.get("name") == gate for scheduling_gate in pod.spec.scheduling_gates)


def is_of_group(pod: Pod) -> bool:
    """Return whether a pod is of a group, as those of StatefulSets and LeaderWorkerSets are."""
    labels = pod.metadata.labels
    return bool(labels.get(names.POD_GROUP_NAME)) or names.SERVING_POD in labels


def gates_without(pod: Pod, gate: str) -> list[dict[str, Any]] | None:
    """Return the gates of a pod but one, as a patch has them; None: it has no others."""
    return [other for other in pod.spec.scheduling_gates if other.get("name") != gate] or None


def is_ungated(pod: Pod, gate: str) -> bool:
    """Return whether a pod was ungated and has not ended."""
    return not has_gate(pod, gate) and not is_finished(pod)


def is_gated(pod: Pod, gate: str) -> bool:
    """Return whether a pod has a scheduling gate, and may be ungated later."""
    return has_gate(pod, gate) and not pod.metadata.is_deleting and not is_finished(pod)


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
