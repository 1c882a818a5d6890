"""Keep deleted pods of a stopped group, as ended, until other pods have taken their places.

So their group's Workload keeps its owners, its conditions and its place in the queue. They are let
go when the group is started again, is over, or has no Workload any more.

Source: behaviour.md 16, Pod group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from actuator.calls import Calls, pinned
from actuator.projection.objects import owner_references
from tidegate.jobs import workload
from tidegate.jobs.job_metadata import named_workload
from tidegate.jobs.kind import Done, JobKind, Object, Start, Stop
from tidegate.kinds import names

Keeps: TypeAlias = Callable[[Stop], bool]
"""Return whether a stopped group's deleted pods are kept until its Workload releases them."""


def nothing(stop: Stop) -> bool:
    """See ``Keeps``."""
    del stop
    return False


async def let_go(calls: Calls, kind: JobKind[object], pods: Mapping[str, Object]) -> None:
    """Take their kind's finalizer off objects, by their paths; errors as in ``Calls.patch``."""
    for path, pod in pods.items():
        guards = pod["metadata"].get("finalizers", [])
        if kind.finalizer in guards:
            rest = [guard for guard in guards if guard != kind.finalizer]
            await calls.merge(path, pinned({"metadata": {"finalizers": rest}}, pod))


async def replace(
    calls: Calls, kind: JobKind[object], order: Start | Stop, pods: Mapping[str, Object]
) -> Done:
    """Take the finalizer off replaced pods, once others own the Workload; errors as above.

    A prebuilt Workload has no owner before, and is not created again once all its pods are gone.
    """
    if not (isinstance(order, Start) and kind.is_group):
        return Done()
    leaving = {path: pod for path, pod in pods.items() if is_leaving(pod)}
    staying = [pod for pod in pods.values() if not is_leaving(pod)]
    if leaving or any(map(_is_prebuilt, staying)):
        await _own(calls, kind, order, staying)
        await let_go(calls, kind, leaving)
    return Done()


def is_leaving(pod: Object) -> bool:
    """Return whether an object is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def _is_prebuilt(pod: Object) -> bool:
    meta = pod["metadata"]
    return bool(named_workload(meta.get("labels", {}), meta.get("annotations", {})))


async def _own(
    calls: Calls, kind: JobKind[object], order: Start, staying: Sequence[Object]
) -> None:
    """Add these pods as owners of the Workload: without an owner it would be deleted."""
    namespace, _, name = order.order.workload.partition("/")
    path = workload.KIND.path(namespace, name)
    obj = await calls.read(path)
    uid = order.order.job.uid
    labels = {} if obj is None else obj["metadata"].get("labels", {})
    if obj is None or labels.get(names.JOB_UID, uid) != uid:
        return
    listed = obj["metadata"].get("ownerReferences", [])
    uids = {reference["uid"] for reference in listed}
    more = [
        reference
        for reference in owner_references({"items": staying}, kind)
        if reference["uid"] not in uids
    ]
    if more:
        owned = {"labels": {names.JOB_UID: uid}, "ownerReferences": [*listed, *more]}
        patch = {"metadata": owned}
        await calls.merge(path, pinned(patch, obj))
