"""Apply an order to a job of several objects: patch each until all are in the ordered state."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from actuator.calls import Calls
from actuator.ordering.kept import Keeps, nothing
from actuator.ordering.orders import among_clusters
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
    parents = {} if parent is None else await parent_of(calls, kind, parent, job)
    if parent is not None and not parents:
        return {}
    return parents | await _pods(calls, kind, job)


async def parent_of(
    calls: Calls, kind: JobKind[object], parent: Parent, job: ObjectRef
) -> dict[str, Object]:
    """Return by its path the object that a job's pods hang on; empty if it is gone."""
    path = kind.path(job.namespace, parent.name(job))
    obj = await calls.read(path)
    if obj is None or obj["metadata"]["uid"] != parent.uid(job):
        return {}
    return {path: parent.view(job, obj)}


async def _pods(calls: Calls, kind: JobKind[object], job: ObjectRef) -> dict[str, Object]:
    assert kind.members is not None, "the kind has jobs of several objects"
    path = pod.KIND.path(job.namespace)
    for selector in kind.members.selectors(job):
        page = await calls.read(path, {"labelSelector": selector})
        items = [] if page is None else page["items"]
        mine = [item for item in items if kind.members.belongs(job, item)]
        if mine:
            return {f"{path}/{item['metadata']['name']}": item for item in mine}
    return {}


def mustered(
    objects: list[Object], kind: JobKind[object], order: Start | Stop, keeps: Keeps = nothing
) -> Refused | list[tuple[Object, Step]]:
    """Return what is still to be done on each object; empty: all are as ordered."""
    assert kind.members is not None, "the kind has jobs of several objects"
    if not objects:
        return Refused(reason="gone", message="All of its objects were deleted.")
    try:
        match order:
            case Start():
                steps = kind.members.start(among_clusters(order, objects[0]), objects)
            case Stop():
                stop = msgspec.structs.replace(order, keeps=keeps(order))
                steps = kind.members.stop(stop, objects)
    except UndecodableError as error:
        return Refused(reason="invalid", message=str(error))
    refused = [step for _, step in steps if isinstance(step, Refused)]
    todo: list[tuple[Object, Step]] = [
        (obj, step) for obj, step in steps if isinstance(step, Patch | Delete)
    ]
    return refused[0] if refused and not todo else todo


def deletion(found_uid: str) -> Object:
    """Return the options that delete this very object and, behind it, what it owns."""
    return {"preconditions": {"uid": found_uid}, "propagationPolicy": "Background"}


async def report_stopped(calls: Calls, stop: Stop, obj: Object) -> None:
    """Create an Event with the cause of a group pod's deletion; nothing depends on it."""
    meta = obj["metadata"]
    regarding = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
    }
    message = stop.order.message or f"{stop.order.reason or 'Stopped'}: its quota was taken back"
    event = event_about(
        regarding, f"{stop.seq:x}.p", stop.order.at_us, ("Normal", "Stopped", message)
    )
    with suppress(ApiStatusError, ApiUnreachableError):
        await calls.post(f"/api/v1/namespaces/{meta['namespace']}/events", event)
