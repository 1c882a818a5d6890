"""batch/v1 Job: one podset ``main``, suspended by ``spec.suspend``.

A Job that was started keeps its template for as long as ``status.startTime`` is set, so a stop
takes steps: suspend, wait until startTime is gone, then restore the template. All in one patch is
refused (422).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import msgspec

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import UndecodableError
from tidegate.jobs.asking import asked, identified, managed, positive
from tidegate.jobs.kind import (
    Done,
    JobKind,
    Object,
    Patch,
    Refused,
    Start,
    Step,
    Stop,
    Wait,
    decided,
)
from tidegate.jobs.merging import difference
from tidegate.jobs.template import Added, conflicts, injected, restored
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import PodCondition, PodTemplateSpec
from tidegate.kinds.podsets import pod_set

NAME = "batch/job"
PODSET = "main"
_CONTROLLER_PATIENCE_S = 2.0
_POLL_S = 0.2
_CONTROLLERS_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid")


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a Job asks for."""

    suspend: bool = False
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    template: PodTemplateSpec


class Uncounted(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that ended and are not in the counts yet."""

    succeeded: tuple[str, ...] = ()


class JobStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a Job stands."""

    start_time: str | None = None
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    uncounted_terminated_pods: Uncounted | None = None
    conditions: tuple[PodCondition, ...] = ()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A Job, as far as it matters here."""

    metadata: ObjectMeta
    spec: JobSpec
    status: JobStatus = JobStatus()


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a start changed, as it stands in ``tidegate.dev/injected``."""

    main: Added = Added()
    parallelism: int | None = None  # as it was; None: not changed
    completions: int | None = None


def observe(job: Job) -> JobObserved:
    """See ``JobKind.observe``."""
    if not managed(job.metadata):
        return identified(job.metadata, name=NAME, kind="Job", group="batch")
    template, least = job.spec.template, _min_count(job.spec, job.metadata.annotations)
    finished, message = _finished(job.status)
    return msgspec.structs.replace(
        asked(job.metadata, name=NAME, kind="Job", group="batch"),
        pod_priority_class=template.spec.priority_class_name,
        podsets=(pod_set(template, name=PODSET, count=_count(job.spec), min_count=least),),
        reclaimable=_reclaimable(job),
        finished=finished,
        message=message,
        state=_state(job),
    )


def start(start: Start, job: Object) -> Step:
    """See ``JobKind.start``: one patch unsuspends, puts in, notes and names the decision."""
    decision = job["metadata"].get("annotations", {}).get(names.DECISION, "")
    if decided(decision, start.ledger_id) >= start.seq or _ended(job):
        return Done()
    before = _without_injection(job)
    wanted = before if isinstance(before, Refused) else _started(before, start)
    if isinstance(wanted, Refused):
        return wanted
    if wanted["spec"] != job["spec"]:
        if start.order.generation not in (0, job["metadata"].get("generation", 0)):
            return Refused(reason="stale", message="The job changed after this was decided.")
        if _started_before(job) and wanted["spec"]["template"] != job["spec"]["template"]:
            return _free_template(job)
    return Patch(body=difference(job, wanted))


def stop(stop: Stop, job: Object, waited_s: float) -> Step:
    """See ``JobKind.stop``: suspend; wait until startTime is null; restore the template."""
    annotations = job["metadata"].get("annotations", {})
    seen = decided(annotations.get(names.DECISION, ""), stop.ledger_id)
    suspended = job["spec"].get("suspend", False)
    if seen > stop.seq or _ended(job) or (seen == stop.seq and not suspended):
        return Done()  # unsuspended after our patch: that is news for a next decision
    if seen < stop.seq:
        decision = {"annotations": {names.DECISION: stop.decision}}
        return Patch(body={"metadata": decision, "spec": {"suspend": True}})
    if names.INJECTED not in annotations:
        return Done()
    if _started_before(job):
        slow = waited_s >= _CONTROLLER_PATIENCE_S
        cleared: Object = {"status": {"startTime": None}}
        return Patch(body=cleared, subresource="status") if slow else Wait(after_s=_POLL_S)
    before = _without_injection(job)
    return before if isinstance(before, Refused) else Patch(body=difference(job, before))


def podsets(job: Object) -> list[Object]:
    """See ``JobKind.podsets``; labels that the Job's controller adds are left out."""
    before = _without_injection(job)
    source = job if isinstance(before, Refused) else before
    template: Object = copy.deepcopy(source["spec"]["template"])
    labels = template.get("metadata", {}).get("labels", {})
    for name in _CONTROLLERS_LABELS:
        labels.pop(name, None)
    spec = read(source["spec"], JobSpec)
    podset: Object = {"name": PODSET, "count": _count(spec), "template": template}
    least = _min_count(spec, source["metadata"].get("annotations", {}))
    return [podset if least is None else {**podset, "minCount": least}]


def _state(job: Job) -> JobState:
    status, annotations = job.status, job.metadata.annotations
    uncounted = status.uncounted_terminated_pods or Uncounted()
    # A stop is done only when the template is as it was: until then the Job counts as started.
    unrestored = job.spec.suspend and names.INJECTED in annotations
    return JobState(
        suspended=job.spec.suspend,
        started=status.start_time is not None or unrestored,
        active=status.active,
        ready=status.ready,
        succeeded=status.succeeded + len(uncounted.succeeded),
        deleting=job.metadata.deleting,
        decision=annotations.get(names.DECISION, ""),
        generation=job.metadata.generation,
    )


def _started(before: Object, start: Start) -> Object | Refused:
    """Return the Job as it should run."""
    podset = next((one for one in start.order.podsets if one.name == PODSET), None)
    if podset is None:
        return Refused(reason="invalid", message=f"The start says nothing of podset {PODSET}.")
    problem = conflicts(before["spec"]["template"], podset)
    if problem:
        return Refused(reason="invalid", message=problem)
    template, added = injected(before["spec"]["template"], podset)
    sizes = _resized(before, podset.count)
    note = Note(main=added, **{name: before["spec"].get(name, 1) for name in sizes})
    annotations = {**before["metadata"].get("annotations", {}), names.DECISION: start.decision}
    if note != Note():
        annotations[names.INJECTED] = msgspec.json.encode(note).decode()
    spec = {**before["spec"], "suspend": False, "template": template, **sizes}
    return {**before, "metadata": {**before["metadata"], "annotations": annotations}, "spec": spec}


def _resized(before: Object, count: int) -> dict[str, int]:
    """Return the fields that partial admission changes."""
    if count >= _count(read(before["spec"], JobSpec)):
        return {}
    indexed = before["spec"].get("completionMode") == "Indexed"
    annotations = before["metadata"].get("annotations", {})
    both = indexed and annotations.get(names.COMPLETIONS_EQUAL_PARALLELISM) == "true"
    return {"parallelism": count, **({"completions": count} if both else {})}


def _without_injection(job: Object) -> Object | Refused:
    """Return the Job as its owner wrote it."""
    written = job["metadata"].get("annotations", {}).get(names.INJECTED)
    if written is None:
        return job
    try:
        note = msgspec.json.decode(written, type=Note)
    except msgspec.DecodeError as error:
        message = f"annotation {names.INJECTED} was altered and cannot be read: {error}"
        return Refused(reason="invalid", message=message)
    spec = {**job["spec"], "template": restored(job["spec"]["template"], note.main)}
    if note.parallelism is not None:
        spec["parallelism"] = note.parallelism
    if note.completions is not None:
        spec["completions"] = note.completions
    annotations = dict(job["metadata"]["annotations"])
    del annotations[names.INJECTED]
    return {**job, "metadata": {**job["metadata"], "annotations": annotations}, "spec": spec}


def _free_template(job: Object) -> Step:
    """Return the step that frees the template of a Job that somebody unsuspended by hand."""
    if not job["spec"].get("suspend", False):
        return Patch(body={"spec": {"suspend": True}})
    return Patch(body={"status": {"startTime": None}}, subresource="status")


def _started_before(job: Object) -> bool:
    return job.get("status", {}).get("startTime") is not None


def _ended(job: Object) -> bool:
    return _finished(read(job.get("status", {}), JobStatus))[0] != ""


def _finished(status: JobStatus) -> tuple[str, str]:
    for condition in status.conditions:
        if condition.status == "True" and condition.type in ("Complete", "Failed"):
            outcome = "Succeeded" if condition.type == "Complete" else "Failed"
            return outcome, condition.message
    return "", ""


def _count(spec: JobSpec) -> int:
    """Return the pods that run at once."""
    return spec.parallelism if spec.completions is None else min(spec.parallelism, spec.completions)


def _min_count(spec: JobSpec, annotations: Mapping[str, str]) -> int | None:
    """Return what partial admission may go down to; None where it does not apply."""
    least = positive(annotations.get(names.MIN_PARALLELISM, ""))
    return least if 0 < least < _count(spec) else None


def _reclaimable(job: Job) -> dict[str, int]:
    """Return the pods that will not run again.

    Source: behaviour.md 16, batch/v1 Job.
    """
    completions = job.spec.parallelism if job.spec.completions is None else job.spec.completions
    ended = _terminal(job, completions)
    remaining = max(completions - ended, 0)
    if job.spec.parallelism <= 1 or not ended or remaining >= job.spec.parallelism:
        return {}
    return {PODSET: job.spec.parallelism - remaining}


def _terminal(job: Job, completions: int) -> int:
    if job.spec.completion_mode != "Indexed":
        return job.status.succeeded
    spans = (*_spans(job.status.completed_indexes), *_spans(job.status.failed_indexes))
    return len({at for first, last in spans for at in range(first, min(last, completions - 1) + 1)})


def _spans(indexes: str) -> list[tuple[int, int]]:
    """Read a Job's index list: ``"1,3-5"`` is ``[(1, 1), (3, 5)]``."""
    try:
        ends = [part.partition("-") for part in indexes.split(",") if part]
        return [(int(first), int(last or first)) for first, _, last in ends]
    except ValueError as error:
        raise UndecodableError(f"status: {indexes[:80]!r} is not a list of indexes.") from error


KIND = JobKind(
    name=NAME,
    group="batch",
    version="v1",
    kind="Job",
    plural="jobs",
    optional=False,
    seen=Job,
    observe=observe,
    start=start,
    stop=stop,
    podsets=podsets,
)
