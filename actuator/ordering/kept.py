"""Pods of a group that a stop has deleted: kept, as ended, until others are in their places.

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
from tidegate.jobs.kind import Done, JobKind, Object, Start, Stop
from tidegate.kinds import names

Keeps: TypeAlias = Callable[[Stop], bool]
"""Tell whether the pods of a group are kept that a stop deletes: its Workload lets them go."""


def nothing(stop: Stop) -> bool:
    """See ``Keeps``."""
    del stop
    return False


async def let_go(calls: Calls, kind: JobKind[object], there: Mapping[str, Object]) -> None:
    """Take their kind's finalizer off objects, by their paths; errors as in ``Calls.patch``."""
    for path, found in there.items():
        guards = found["metadata"].get("finalizers", [])
        if kind.finalizer in guards:
            rest = [guard for guard in guards if guard != kind.finalizer]
            await calls.patch(path, pinned({"metadata": {"finalizers": rest}}, found))


async def replace(
    calls: Calls, kind: JobKind[object], order: Start | Stop, there: Mapping[str, Object]
) -> Done:
    """Let pods go that others have replaced, once these own the Workload; errors as above."""
    left = {path: one for path, one in there.items() if is_leaving(one)}
    if isinstance(order, Start) and kind.is_group and left:
        staying = [one for one in there.values() if not is_leaving(one)]
        await _own(calls, kind, order, staying)
        await let_go(calls, kind, left)
    return Done()


def is_leaving(found: Object) -> bool:
    """Tell whether an object is being deleted."""
    return "deletionTimestamp" in found["metadata"]


async def _own(
    calls: Calls, kind: JobKind[object], order: Start, staying: Sequence[Object]
) -> None:
    """Let the Workload belong to these pods too: who has no owner any more is deleted."""
    namespace, _, name = order.order.workload.partition("/")
    path = workload.KIND.path(namespace, name)
    found = await calls.read(path)
    if found is None or found["metadata"]["labels"].get(names.JOB_UID) != order.order.job.uid:
        return
    listed = found["metadata"].get("ownerReferences", [])
    known = {one["uid"] for one in listed}
    more = [one for one in owner_references({"items": staying}, kind) if one["uid"] not in known]
    if more:
        patch = {"metadata": {"ownerReferences": [*listed, *more]}}
        await calls.patch(path, pinned(patch, found))
