"""The row of a kind that is queued through its pods."""

from __future__ import annotations

from functools import partial

import msgspec

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.jobs.job_metadata import state
from tidegate.jobs.job_status import Loose, charged_at
from tidegate.jobs.kind import JobKind, Members, Object, Parent, Refused, Step
from tidegate.jobs.serving import ordering
from tidegate.jobs.serving.members import SetLayout, group_index, parent_name, parent_uid
from tidegate.jobs.serving.observing import Standing, observe_set
from tidegate.jobs.serving.ordering import start_set, stop_set
from tidegate.jobs.templates.paths import found_at
from tidegate.jobs.templates.podsets import written_podset
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.policies.templates.serving_kinds import Serving
from tidegate.model.ids import ObjectRef


class ServingSet(msgspec.Struct, frozen=True):
    """A kind that is queued through its pods."""

    row: JobKind[Loose]
    layout: SetLayout


MANAGED_PODS = f"{names.MANAGED}=true"


def serving_kind(serving: Serving, layout: SetLayout) -> ServingSet:
    """Return a kind; its version is v1."""

    def observe(obj: Loose) -> JobObserved:
        index = 0 if layout.grouped else None
        nothing = Standing(pods=(), version=obj.metadata.version)
        return observe_set(row, layout, obj, index, nothing)

    row = JobKind(
        name=serving.name,
        group=serving.group,
        version="v1",
        kind=serving.kind,
        plural=serving.resource,
        seen=Loose,
        observe=observe,
        start=_refused,
        stop=_refused,
        status_of=_status_of,
        podsets=partial(_podsets, layout),
        members=Members(
            selectors=lambda _: (MANAGED_PODS,),
            belongs=partial(_belongs, layout),
            start=partial(start_set, layout),
            stop=stop_set,
            parent=_PARENT,
        ),
    )
    return ServingSet(row=row, layout=layout)


def _view(job: ObjectRef, obj: Object) -> Object:
    return ordering.of_one(obj, group_index(job))


_PARENT = Parent(name=parent_name, uid=parent_uid, index=group_index, view=_view)


def _belongs(layout: SetLayout, job: ObjectRef, obj: Object) -> bool:
    """Return whether a pod is one of a job's."""
    meta = read(obj["metadata"], ObjectMeta)
    member = layout.member(meta)
    if member is None or member.parent != parent_name(job):
        return False
    return member.uid in ("", parent_uid(job)) and member.index == group_index(job)


def _podsets(layout: SetLayout, obj: Object) -> list[Object]:
    return [
        written_podset(place.name, place.count, charged_at(obj, place), index=place.index)
        for place in layout.places(obj)
    ]


def _status_of(meta: ObjectMeta, obj: Object) -> JobState:
    """Return the state of an object whose pods were not counted: from its status."""
    ready = found_at(obj, ("status", "readyReplicas"))
    runs = isinstance(ready, int) and ready > 0
    started = any(key.startswith(names.INJECTED) for key in meta.annotations)
    return state(meta, suspended=not (runs or started), active=1 if runs else 0)


def _refused(*_: object) -> Step:
    return Refused(reason="invalid", message="It is started and stopped with its pods.")
