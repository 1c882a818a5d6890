"""The pods of a Job: how they are made, what they count as, and how they go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import msgspec

from apiserver.refusals import RefusedError
from apiserver.resources import PODS, Resource
from apiserver.writes.deleting import DeleteOptions, Preconditions, delete
from apiserver.writes.registry import Registry
from tidegate.kinds.times import micros

Object = dict[str, Any]
TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
_BACKOFF_US, _BACKOFF_MAX_US, _DOUBLINGS_MAX = 10_000_000, 600_000_000, 10


def is_ready(pod: Object) -> bool:
    """Return whether a pod is ready."""
    conditions = pod["status"].get("conditions") or []
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def is_failed(job: Object, pod: Object) -> bool:
    """Return whether a pod failed: a terminating one does, unless the Job waits for it."""
    phase = pod["status"].get("phase")
    waits = job["spec"]["podReplacementPolicy"] == "Failed"
    ending = "deletionTimestamp" in pod["metadata"] and phase != "Succeeded"
    return phase == "Failed" or (ending and not waits)


def is_tracked(pod: Object) -> bool:
    """Return whether a pod is still to be counted."""
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def create_pod(registry: Registry, job: Object, number: int | None) -> None:
    """Create a pod of a Job, with its completion index if it has one.

    A refusal, such as of a namespace that ends, leaves the Job as it is: it is tried again with
    the Job's next change.
    """
    template: Object = msgspec.json.decode(msgspec.json.encode(job["spec"]["template"]))
    metadata, name = template["metadata"], job["metadata"]["name"]
    metadata["generateName"] = f"{name}-" if number is None else f"{name}-{number}-"
    metadata["finalizers"] = [*(metadata.get("finalizers") or []), TRACKING]
    metadata["ownerReferences"] = [_owner(job)]
    if number is not None:
        metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(number)}
        metadata["labels"] = {**metadata.get("labels", {}), INDEX: str(number)}
        template["spec"].setdefault("hostname", f"{name}-{number}")
    try:
        registry.create(PODS, job["metadata"]["namespace"], template)
    except RefusedError:
        return


def delete_pod(registry: Registry, pod: Object, *, resource: Resource = PODS) -> None:
    """Delete this very pod, or another object, if it is still there."""
    metadata = pod["metadata"]
    options = DeleteOptions(
        propagationPolicy="Background", preconditions=Preconditions(uid=metadata["uid"])
    )
    if registry.state.get(resource.key, metadata["namespace"], metadata["name"]):
        delete(registry, resource, metadata["namespace"], metadata["name"], options)


def remove_tracking(registry: Registry, pods: Sequence[Object]) -> None:
    """Let go of pods that need not be counted any more."""
    for pod in pods:
        where = pod["metadata"]["namespace"], pod["metadata"]["name"]
        current = registry.state.get(PODS.key, *where)
        if current is not None and is_tracked(current):
            freed: Object = msgspec.json.decode(registry.state.body(current))
            freed["metadata"]["finalizers"].remove(TRACKING)
            registry.store_or_remove(PODS, freed)


def backoff_until_us(pods: Sequence[Object]) -> int:
    """Return when the next pod may begin after those that failed, in UTC microseconds."""
    failed = [pod for pod in pods if pod["status"].get("phase") == "Failed"]
    if not failed:
        return 0
    last_us = max(_ended_us(pod) for pod in failed)
    doublings = min(len(failed) - 1, _DOUBLINGS_MAX)
    return last_us + min(_BACKOFF_US << doublings, _BACKOFF_MAX_US)


def missing_indexes(
    job: Object, active: Sequence[Object], done: set[int], count: int
) -> list[int | None]:
    """Return what the next ``count`` pods are: their indexes, or None each without indexes."""
    if job["spec"]["completionMode"] != "Indexed":
        return [None] * count
    used = done | {int(pod["metadata"]["annotations"][INDEX]) for pod in active}
    free = (number for number in range(job["spec"]["completions"]) if number not in used)
    return list(islice(free, count))


def read_indexes(text: str) -> set[int]:
    """Read ``0,3-5``."""
    indexes = set[int]()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        indexes |= set(range(int(first), int(last or first) + 1))
    return indexes


def indexes_text(indexes: set[int]) -> str:
    """Write ``0,3-5``."""
    runs = list[list[int]]()
    for number in sorted(indexes):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{a}" if a == b else f"{a},{b}" if b == a + 1 else f"{a}-{b}" for a, b in runs)


def _owner(job: Object) -> Object:
    metadata = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"]}
    owner |= {"uid": metadata["uid"]}
    return owner | {"controller": True, "blockOwnerDeletion": True}


def _ended_us(pod: Object) -> int:
    for status in pod["status"].get("containerStatuses") or ():
        if ended := (status.get("state") or {}).get("terminated", {}).get("finishedAt"):
            return micros(ended)
    return micros(pod["metadata"]["creationTimestamp"])
