"""An order for a job that is several objects: each brought where it should be, until all are."""

from __future__ import annotations

from actuator.calls import Calls
from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Delete, Members, Object, Patch, Refused, Start, Step, Stop
from tidegate.model.ids import ObjectRef


async def listed(calls: Calls, path: str, job: ObjectRef, members: Members) -> list[Object]:
    """Return the objects that are a job together; errors as in ``Calls.read``."""
    query = {"labelSelector": f"{members.label}={job.name}"}
    found = await calls.read(path, query)
    items: list[Object] = [] if found is None else found["items"]
    return items


def mustered(
    there: list[Object], members: Members, order: Start | Stop
) -> Refused | list[tuple[Object, Step]]:
    """Return what is still to be done on each object; empty: all are as ordered."""
    if not there:
        return Refused(reason="gone", message="All of its objects were deleted.")
    try:
        match order:
            case Start():
                steps = members.start(order, there)
            case Stop():
                steps = members.stop(order, there)
    except UndecodableError as error:
        return Refused(reason="invalid", message=str(error))
    refused = [step for _, step in steps if isinstance(step, Refused)]
    todo: list[tuple[Object, Step]] = [
        (one, step) for one, step in steps if isinstance(step, Patch | Delete)
    ]
    return refused[0] if refused and not todo else todo


def object_path(path: str, found: Object) -> str:
    """Return the path of one of the objects, from that of its collection."""
    return f"{path}/{found['metadata']['name']}"


def deletion(found_uid: str) -> Object:
    """Return the options that delete this very object and, behind it, what it owns."""
    return {"preconditions": {"uid": found_uid}, "propagationPolicy": "Background"}
