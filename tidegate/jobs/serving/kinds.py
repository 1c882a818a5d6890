"""The row of a kind that is queued through its pods."""

from __future__ import annotations

from functools import partial

import msgspec

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.jobs.job_metadata import job_state
from tidegate.jobs.job_status import UntypedObject, charged_template
from tidegate.jobs.kind import JobKind, Members, Object, Parent, Refused, Step
from tidegate.jobs.serving import ordering
from tidegate.jobs.serving.members import SetLayout, group_index, parent_name, parent_uid
from tidegate.jobs.serving.observing import ObservedPods, observe_serving_job
from tidegate.jobs.serving.ordering import start_serving_job, stop_serving_job
from tidegate.jobs.templates.paths import value_at
from tidegate.jobs.templates.podsets import written_podset
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.policies.templates.serving_kinds import Serving
from tidegate.model.ids import ObjectRef


class ServingSet(msgspec.Struct, frozen=True):
    """A kind that is queued through its pods."""

    row: JobKind[UntypedObject]
    layout: SetLayout


MANAGED_PODS = f"{names.MANAGED}=true"


def serving_kind(serving: Serving, layout: SetLayout) -> ServingSet:
    """Return a kind; its version is v1."""

    def observe(obj: UntypedObject) -> JobObserved:
        index = 0 if layout.grouped else None
        nothing = ObservedPods(pods=(), version=obj.metadata.version)
        return observe_serving_job(row, layout, obj, index, nothing)

    row = JobKind(
        name=serving.name,
        group=serving.group,
        version="v1",
        kind=serving.kind,
        plural=serving.resource,
        object_type=UntypedObject,
        observe=observe,
        start=_refuse,
        stop=_refuse,
        status_of=_status_of,
        podsets=partial(_podsets, layout),
        members=Members(
            selectors=lambda _: (MANAGED_PODS,),
            is_member=partial(_is_member, layout),
            start=partial(start_serving_job, layout),
            stop=stop_serving_job,
            parent=_PARENT,
        ),
    )
    return ServingSet(row=row, layout=layout)


def _view_of_job(job: ObjectRef, obj: Object) -> Object:
    return ordering.view_of_job(obj, group_index(job))


_PARENT = Parent(name=parent_name, uid=parent_uid, index=group_index, view=_view_of_job)


def _is_member(layout: SetLayout, job: ObjectRef, obj: Object) -> bool:
    """Return whether a pod is one of a job's."""
    meta = read(obj["metadata"], ObjectMeta)
    member = layout.membership(meta)
    if member is None or member.parent != parent_name(job):
        return False
    return member.uid in ("", parent_uid(job)) and member.index == group_index(job)


def _podsets(layout: SetLayout, obj: Object) -> list[Object]:
    return [
        written_podset(place.name, place.count, charged_template(obj, place), index=place.index)
        for place in layout.podset_locations(obj)
    ]


def _status_of(meta: ObjectMeta, obj: Object) -> JobState:
    """Return the state of an object whose pods were not counted: from its status."""
    ready = value_at(obj, ("status", "readyReplicas"))
    runs = isinstance(ready, int) and ready > 0
    started = any(key.startswith(names.INJECTED) for key in meta.annotations)
    return job_state(meta, suspended=not (runs or started), active=1 if runs else 0)


def _refuse(*_: object) -> Step:
    return Refused(reason="invalid", message="It is started and stopped with its pods.")
