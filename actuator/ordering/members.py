"""An order for a job that is several objects: each brought where it should be, until all are."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from actuator.calls import Calls
from actuator.ordering.kept import Keeps, nothing
from actuator.projection.k8s_events import event_about
from tidegate.errors import ApiStatusError, ApiUnreachableError, UndecodableError
from tidegate.jobs.kind import Delete, JobKind, Object, Parent, Patch, Refused, Start, Step, Stop
from tidegate.jobs.pods import pod
from tidegate.model.ids import ObjectRef


async def listed(calls: Calls, kind: JobKind[object], job: ObjectRef) -> dict[str, Object]:
    """Return by their paths the objects that are a job together, the one with a name first.

    Empty if that one is gone, or all pods of a job that has none. Errors as in ``Calls.read``.
    """
    assert kind.members is not None, "the kind has jobs of several objects"
    parent = kind.members.parent
    found = {} if parent is None else await parent_of(calls, kind, parent, job)
    if parent is not None and not found:
        return {}
    return found | await _pods(calls, kind, job)


async def parent_of(
    calls: Calls, kind: JobKind[object], parent: Parent, job: ObjectRef
) -> dict[str, Object]:
    """Return by its path the object that a job's pods hang on; empty if it is gone."""
    path = kind.path(job.namespace, parent.name(job))
    found = await calls.read(path)
    if found is None or found["metadata"]["uid"] != parent.uid(job):
        return {}
    return {path: parent.view(job, found)}


async def _pods(calls: Calls, kind: JobKind[object], job: ObjectRef) -> dict[str, Object]:
    assert kind.members is not None, "the kind has jobs of several objects"
    path = pod.KIND.path(job.namespace)
    for selector in kind.members.selectors(job):
        page = await calls.read(path, {"labelSelector": selector})
        items = [] if page is None else page["items"]
        mine = [one for one in items if kind.members.belongs(job, one)]
        if mine:
            return {f"{path}/{one['metadata']['name']}": one for one in mine}
    return {}


def mustered(
    there: list[Object], kind: JobKind[object], order: Start | Stop, keeps: Keeps = nothing
) -> Refused | list[tuple[Object, Step]]:
    """Return what is still to be done on each object; empty: all are as ordered."""
    assert kind.members is not None, "the kind has jobs of several objects"
    if not there:
        return Refused(reason="gone", message="All of its objects were deleted.")
    try:
        match order:
            case Start():
                steps = kind.members.start(order, there)
            case Stop():
                told = msgspec.structs.replace(order, keeps=keeps(order))
                steps = kind.members.stop(told, there)
    except UndecodableError as error:
        return Refused(reason="invalid", message=str(error))
    refused = [step for _, step in steps if isinstance(step, Refused)]
    todo: list[tuple[Object, Step]] = [
        (one, step) for one, step in steps if isinstance(step, Patch | Delete)
    ]
    return refused[0] if refused and not todo else todo


def deletion(found_uid: str) -> Object:
    """Return the options that delete this very object and, behind it, what it owns."""
    return {"preconditions": {"uid": found_uid}, "propagationPolicy": "Background"}


async def tell_stopped(calls: Calls, stop: Stop, found: Object) -> None:
    """Tell a pod of a group why it is deleted, by an Event; nothing depends on it."""
    meta = found["metadata"]
    regarding = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
    }
    said = stop.order.message or f"{stop.order.reason or 'Stopped'}: its quota was taken back"
    event = event_about(regarding, f"{stop.seq:x}.p", stop.order.at_us, ("Normal", "Stopped", said))
    with suppress(ApiStatusError, ApiUnreachableError):
        await calls.tell(f"/api/v1/namespaces/{meta['namespace']}/events", event)
