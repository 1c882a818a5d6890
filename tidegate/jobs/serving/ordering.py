"""An object that is queued through its pods, started and stopped.

A start writes on the object what its pods are given; pods are let go one by one as they come. Its
templates stay as they are, for each change would replace all pods. What stands on it lets no pod go
by itself: its Workload has to be admitted as well. A stop reverts that, then deletes the running
pods; their controller creates gated ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.job_status import charged_template
from tidegate.jobs.kind import Done, Object, Patch, Refused, Start, Step, Stop
from tidegate.jobs.pods import pod as single
from tidegate.jobs.serving.members import SetLayout, group_index
from tidegate.jobs.templates.notes import decision_seq_of
from tidegate.jobs.templates.template import conflicting_key
from tidegate.kinds import names
from tidegate.kinds.decode import FAILURES
from tidegate.kinds.names import SERVING_POD

_Steps = list[tuple[Object, Step]]


def _key(name: str, index: int | None) -> str:
    return name if index is None else f"{name}-{index}"


def podset_starts(
    annotations: Mapping[str, str], index: int | None
) -> tuple[PodSetStart, ...] | None:
    """Return what the pods of a started job are given; None: it was not started."""
    written = annotations.get(_key(names.INJECTED, index))
    if written is None:
        return None
    try:
        return msgspec.json.decode(written, type=tuple[PodSetStart, ...])
    except FAILURES:
        return None


def decision(annotations: Mapping[str, str], index: int | None) -> str:
    """Return the decision in an object's annotation for one of its jobs, empty for none."""
    return annotations.get(_key(names.DECISION, index), "")


def decision_patch(
    index: int | None, decision: str, start: tuple[PodSetStart, ...] | None
) -> Object:
    """Return the patch that puts a decision on an object, and what a start gives; None: a stop."""
    note = None if start is None else msgspec.json.encode(start).decode()
    marks = {_key(names.DECISION, index): decision, _key(names.INJECTED, index): note}
    return {"metadata": {"annotations": marks}}


def view_of_job(group: Object, index: int | None) -> Object:
    """Return an object as it looks to one of its jobs: that job's marks under the usual names."""
    if index is None:
        return group
    notes = group["metadata"].get("annotations", {})
    notes_kept = {
        key: text for key, text in notes.items() if key not in (names.DECISION, names.INJECTED)
    }
    for name in (names.DECISION, names.INJECTED):
        if _key(name, index) in notes:
            notes_kept[name] = notes[_key(name, index)]
    return {**group, "metadata": {**group["metadata"], "annotations": notes_kept}}


def start_serving_job(layout: SetLayout, start: Start, objects: Sequence[Object]) -> _Steps:
    """Return the step that starts a job; ``objects`` are its object and its pods.

    Pods from before bear a label from then on, by which they are watched.
    """
    parent, *pods = objects
    unseen: _Steps = [
        (pod, Patch(body={"metadata": {"labels": {SERVING_POD: "true"}}}))
        for pod in pods
        if SERVING_POD not in pod["metadata"].get("labels", {})
    ]
    if decision_seq_of(parent, start.ledger_id) >= start.seq:
        return unseen
    problem = _start_problem(layout, start, parent)
    if problem:
        return [(parent, Refused(reason="invalid", message=problem))]
    index = group_index(start.order.job)
    body = decision_patch(index, start.decision, start.order.podsets)
    return [(parent, Patch(body=body)), *unseen]


def stop_serving_job(stop: Stop, objects: Sequence[Object]) -> _Steps:
    """Return what is to be done to stop a job: the object first, then each of its pods.

    A gated pod is marked as well: a client that read the object before cannot ungate it any more.
    """
    parent, *pods = objects
    seq = decision_seq_of(parent, stop.ledger_id)
    if seq > stop.seq:
        return [(parent, Done())]
    if seq < stop.seq:
        index = group_index(stop.order.job)
        return [(parent, Patch(body=decision_patch(index, stop.decision, None)))]
    return [(pod, single.stop(stop, pod, 0.0)) for pod in pods]


def _start_problem(layout: SetLayout, start: Start, parent: Object) -> str:
    places = {place.name: place for place in layout.podset_locations(parent)}
    podsets = {podset.name: podset for podset in start.order.podsets}
    if places.keys() != podsets.keys():
        return f"The start is of podsets {', '.join(podsets)}; there are {', '.join(places)}."
    conflicting = (
        conflicting_key(charged_template(parent, place), podsets[name])
        for name, place in places.items()
    )
    return next((problem for problem in conflicting if problem), "")
