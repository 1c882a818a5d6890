"""The objects of a job for an order: its members, what it refers to, which decision they bear.

Deleted pods of a stopped group are kept, as ended, until other pods have taken their places: so
their group's Workload keeps its owners, its conditions and its place in the queue. They are let go
when the group is started again, is over, or has no Workload any more.

Source: behaviour.md 16, Pod group.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec

from actuator.calls import Calls, with_preconditions
from actuator.ordering.orders import Order, with_pod_metadata
from actuator.ordering.pod_events import RecordsEvent, owners_added_event
from actuator.projection.objects import owner_references
from tidegate.errors import ApiStatusError, UndecodableError
from tidegate.jobs import workload
from tidegate.jobs.job_metadata import prebuilt_workload_name
from tidegate.jobs.kind import (
    Delete,
    Done,
    JobKind,
    Object,
    Parent,
    Patch,
    Refused,
    Start,
    Step,
    Stop,
)
from tidegate.jobs.pods.pod import KIND as POD
from tidegate.jobs.templates.notes import newest_decision_seq, without_decision
from tidegate.kinds import names
from tidegate.model.ids import ObjectRef

IsAhead: TypeAlias = Callable[[int], Awaitable[bool]]
"""Compares the ledger's newest seq with what this actuator has read."""
KeepsPods: TypeAlias = Callable[[Stop], bool]
"""Return whether a stopped group's deleted pods are kept until its Workload releases them."""


async def never_ahead(seq: int) -> bool:
    """See ``IsAhead``: all that there is was read."""
    del seq
    return False


async def without_forged_decision(
    job: Object, order: Order, ahead: IsAhead, superseded: Callable[[], bool]
) -> Object:
    """Return an object as it is, or without a decision that the ledger did not take for it.

    An order for the same object that is newer than this one supersedes it once it is read, which
    may have been while this object came: a slow response has what was decided meanwhile.

    Raises:
        ApiStatusError: 409: it bears a decision that this actuator will read in a moment, or has.
    """
    seq = newest_decision_seq(job, order.ledger_id)
    if seq <= order.seq:
        return job
    if await ahead(seq) or superseded():
        raise ApiStatusError(HTTPStatus.CONFLICT, "It bears a later decision.")
    return without_decision(job)


async def with_referenced_objects(calls: Calls, kind: JobKind[Any], job: Object) -> Object:
    """Return a job with the objects that it refers to, as far as they are there.

    Raises:
        UndecodableError: what it refers to makes no sense.
        ApiStatusError, ApiUnreachableError: as in ``Calls.read``.
    """
    paths = kind.referred_paths(job)
    objects = [await calls.read(path) for path in paths]
    return {**job, "beside": [obj for obj in objects if obj is not None]} if paths else job


async def list_members(calls: Calls, kind: JobKind[object], job: ObjectRef) -> dict[str, Object]:
    """Return by their paths the objects that are a job together, the one with a name first.

    Empty if that one is gone, or all pods of a job that has none. Errors as in ``Calls.read``.
    """
    assert kind.members is not None, "the kind has jobs of several objects"
    parent = kind.members.parent
    parents = {} if parent is None else await pod_parent(calls, kind, parent, job)
    if parent is not None and not parents:
        return {}
    return parents | await _list_pods(calls, kind, job)


async def pod_parent(
    calls: Calls, kind: JobKind[object], parent: Parent, job: ObjectRef
) -> dict[str, Object]:
    """Return by its path the object that a job's pods hang on; empty if it is gone."""
    path = kind.path(job.namespace, parent.name(job))
    obj = await calls.read(path)
    if obj is None or obj["metadata"]["uid"] != parent.uid(job):
        return {}
    return {path: parent.view(job, obj)}


async def _list_pods(calls: Calls, kind: JobKind[object], job: ObjectRef) -> dict[str, Object]:
    assert kind.members is not None, "the kind has jobs of several objects"
    path = POD.path(job.namespace)
    for selector in kind.members.selectors(job):
        page = await calls.read(path, {"labelSelector": selector})
        items = [] if page is None else page["items"]
        mine = [obj for obj in items if kind.members.is_member(job, obj)]
        if mine:
            return {f"{path}/{obj['metadata']['name']}": obj for obj in mine}
    return {}


def remaining_steps(
    objects: list[Object], kind: JobKind[object], order: Start | Stop, keeps_pods: KeepsPods
) -> Refused | list[tuple[Object, Step]]:
    """Return what is still to be done on each object; empty: all are as ordered."""
    assert kind.members is not None, "the kind has jobs of several objects"
    if not objects:
        return Refused(reason="gone", message="All of its objects were deleted.")
    try:
        match order:
            case Start():
                steps = kind.members.start(with_pod_metadata(order, objects[0]), objects)
            case Stop():
                stop = msgspec.structs.replace(order, keeps=keeps_pods(order))
                steps = kind.members.stop(stop, objects)
    except UndecodableError as error:
        return Refused(reason="invalid", message=str(error))
    refused = [step for _, step in steps if isinstance(step, Refused)]
    todo: list[tuple[Object, Step]] = [
        (obj, step) for obj, step in steps if isinstance(step, Patch | Delete)
    ]
    return refused[0] if refused and not todo else todo


def delete_options(found_uid: str) -> Object:
    """Return the options that delete this very object and, behind it, what it owns."""
    return {"preconditions": {"uid": found_uid}, "propagationPolicy": "Background"}


async def remove_finalizers(
    calls: Calls, kind: JobKind[object], pods: Mapping[str, Object]
) -> None:
    """Take their kind's finalizer off objects, by their paths; errors as in ``Calls.patch``."""
    for path, pod in pods.items():
        guards = pod["metadata"].get("finalizers", [])
        if kind.finalizer in guards:
            rest = [guard for guard in guards if guard != kind.finalizer]
            await calls.patch_blind(
                path, with_preconditions({"metadata": {"finalizers": rest}}, pod)
            )


async def release_replaced_pods(
    calls: Calls,
    kind: JobKind[object],
    order: Start | Stop,
    pods: Mapping[str, Object],
    say: RecordsEvent,
) -> Done:
    """Take the finalizer off replaced pods, once others own the Workload; errors as above.

    A prebuilt Workload has no owner before, and is not created again once all its pods are gone.
    """
    if not (isinstance(order, Start) and kind.is_group):
        return Done()
    leaving = {path: pod for path, pod in pods.items() if is_being_deleted(pod)}
    staying = [pod for pod in pods.values() if not is_being_deleted(pod)]
    if leaving or any(map(_is_prebuilt, staying)):
        await _add_owners(calls, kind, order, staying, say)
        await remove_finalizers(calls, kind, leaving)
    return Done()


def is_being_deleted(pod: Object) -> bool:
    """Return whether an object is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def _is_prebuilt(pod: Object) -> bool:
    meta = pod["metadata"]
    return bool(prebuilt_workload_name(meta.get("labels", {}), meta.get("annotations", {})))


async def _add_owners(
    calls: Calls, kind: JobKind[object], order: Start, staying: Sequence[Object], say: RecordsEvent
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
        await calls.patch_blind(path, with_preconditions(patch, obj))
        say(owners_added_event(order, obj, len(more)))
