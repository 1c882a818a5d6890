"""What Tidegate's module of a kind answers, under the names that the cases give to answers."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from tests.jobs.walking import merged
from tests.kinds.observed.cases import Case, Object
from tests.kinds.observed.defaults import defaulted
from tests.kinds.observed.groups import group_answers
from tests.kinds.observed.orders import as_reported, shown, start_of, stop_order, units_of
from tests.kinds.observed.served import SERVED, served_answers
from tidegate.contracts.observations import JobObserved
from tidegate.errors import TidegateError
from tidegate.jobs.kind import JobKind, Patch, Refused, Start, Stop, Wait
from tidegate.jobs.pods.grouping import group_name, group_of
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.templates.paths import value_at, with_value
from tidegate.kinds.decode import decode_object, read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import POD_GROUP_TOTAL_COUNT
from tidegate.kinds.pods import Pod

_STEPS_MAX = 10
_PENDING: Object = {"status": None}
"""What is left of a status once the kind's controller has ended all pods."""


def answered(case: Case) -> Object:
    """Return every answer there is."""
    case = with_beside(case)
    if case.object["kind"] == "PodList":
        return group_answers(case)
    if case.kind in SERVED:
        return served_answers(case)
    kind = _kind_of(case)
    fields: Object = {"webhook": {"default": {"object": shown(defaulted(case))}}}
    if kind is None:
        return fields
    fields["gvk"] = {"group": kind.group, "kind": kind.kind, "version": kind.version}
    try:
        of_its_own_controller = _of_its_own_controller(case.object, kind)
        seen = decode_object(msgspec.json.encode(of_its_own_controller), kind.object_type)
        if isinstance(seen, Pod) and group_name(seen.metadata):
            group_of([seen])
            seen = _alone(seen)
        observed = kind.observe(seen)
        return (
            fields
            | as_reported(observed)
            | {
                "podSets": units_of(kind.podsets(of_its_own_controller), observed),
                "managedBy": _managed_by(case, kind),
                "skip": kind.is_skipped(seen),
            }
            | _moved(case, kind)
        )
    except TidegateError as error:
        fields["webhook"]["validateCreate"] = {"error": str(error)}
        return fields | {"podSetsError": str(error)}


def with_beside(case: Case) -> Case:
    """Return a case whose object has those that it refers to beside it."""
    kind = _kind_of(case)
    if kind is None or not kind.referred_plurals:
        return case
    try:
        paths = kind.referred_paths(case.object)
    except TidegateError:
        return case
    named = [path.rpartition("/")[2] for path in paths]
    beside = [obj for obj in case.extra if obj["metadata"]["name"] in named]
    return replace(case, object={**case.object, "beside": beside})


def _alone(pod: Pod) -> Pod:
    """Return a pod of a group as the cases judge it: as if it were alone."""
    annotations = dict(pod.metadata.annotations)
    annotations.pop(POD_GROUP_TOTAL_COUNT, None)
    return replace(pod, metadata=replace(pod.metadata, annotations=annotations))


def _kind_of(case: Case) -> JobKind[Any] | None:
    """Return the kind of a case's object, None where it is queued through its pods."""
    group, _, _ = str(case.object["apiVersion"]).rpartition("/")
    return next(
        (
            kind
            for kind in JOB_KINDS.values()
            if (kind.group, kind.kind) == (group, case.object["kind"]) and kind.members is None
        ),
        None,
    )


def _of_its_own_controller(obj: Object, kind: JobKind[Any]) -> Object:
    """Return an object without its ``managedBy`` of another controller, which would hide it."""
    if kind.managed_by is None or not kind.managed_by.is_elsewhere(obj):
        return obj
    own: Object = with_value(obj, kind.managed_by.path, None)
    return own


def _managed_by(case: Case, kind: JobKind[Any]) -> Object:
    if kind.managed_by is None:
        return {}
    value = value_at(case.object, kind.managed_by.path)
    return {"value": value, "canDefault": not kind.managed_by.other_controller(case.object)}


def _moved(case: Case, kind: JobKind[Any]) -> Object:
    """Return the object after its start, and after the stop that follows."""
    started, fields = case.object, Object()
    if case.infos is not None:
        started, refused = _carried_out(kind, case.object, start_of(case.infos))
        fields["run"] = {"object": shown(started), "isSuspended": _suspended(kind, started)}
        if refused is not None:
            fields["run"] = {"error": refused.message, "permanent": refused.reason == "invalid"}
            started = case.object
    stopped, refused = _carried_out(kind, started, stop_order(seq=7))
    fields["restore"] = {
        "object": shown(stopped),
        "isSuspendedAfterSuspend": refused is None and _suspended(kind, stopped),
    }
    return fields


def is_restored(case: Case) -> bool:
    """Tell whether a start and the stop that follows leave a case's spec as it was.

    A case without a start, or of pods, which end at a stop, is.
    """
    case = with_beside(case)
    kind = _kind_of(case)
    if kind is None or case.infos is None or not kind.owns_jobs:
        return True
    try:
        before, _ = _carried_out(kind, case.object, stop_order(seq=3))
        started, _ = _carried_out(kind, before, start_of(case.infos))
        stopped, _ = _carried_out(kind, started, stop_order(seq=7))
    except TidegateError:  # it is no job
        return True
    return msgspec.json.encode(stopped["spec"]) == msgspec.json.encode(before["spec"])


def stands_otherwise(case: Case) -> str:
    """Return in what the state of an object differs if its podsets are not looked at; or nothing.

    Nothing is compared of what is no job, or a job together with others.
    """
    case = with_beside(case)
    kind = None if "items" in case.object else _kind_of(case)
    if kind is None:
        return ""
    obj = _of_its_own_controller(case.object, kind)
    short, over = kind.status_of(read(obj["metadata"], ObjectMeta), obj), kind.terminal_phase(obj)
    try:
        observed = kind.observe(read(obj, kind.object_type))
    except TidegateError:
        return ""
    ours, theirs = (
        (state.suspended, state.active > 0, state.generation, ended)
        for state, ended in ((short, over), (observed.state, observed.finished))
    )
    return "" if ours == theirs else f"{ours}, and {theirs} with its podsets"


def _suspended(kind: JobKind[Any], obj: Object) -> bool:
    seen = read(_of_its_own_controller(obj, kind), kind.object_type)
    observed: JobObserved = kind.observe(seen)
    return observed.state.suspended


def _carried_out(
    kind: JobKind[Any], job: Object, order: Start | Stop
) -> tuple[Object, Refused | None]:
    """Take every step of an order, with a controller that ends all pods when it is waited for."""
    for _ in range(_STEPS_MAX):
        match order:
            case Start():
                step = kind.start(order, job)
            case Stop():
                step = kind.stop(order, job, 0.0)
        match step:
            case Patch():
                job = merged(job, step.body)
            case Wait():
                job = merged(job, _PENDING)
            case Refused():
                return job, step
            case _:
                return job, None
    raise AssertionError("the steps never end")
