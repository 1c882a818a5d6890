"""What a start writes into a batch Job, when it may, and the Job as it was before.

Kubernetes before 1.35 asks for no startTime to change the template, later ones for no active pods
besides.
"""

from __future__ import annotations

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.batch.numbers import PODSET, JobSpec, has_synced_completions, parallel_pods
from tidegate.jobs.gates import ManagedBy
from tidegate.jobs.job_metadata import has_gated_pods, is_elastic
from tidegate.jobs.kind import Object, Patch, Refused, Start, Step, Wait
from tidegate.jobs.templates.notes import (
    InjectedFields,
    before_start,
    with_decision,
    without_injected,
)
from tidegate.jobs.templates.paths import parse_path, value_at, with_value
from tidegate.jobs.templates.template import (
    conflicting_key,
    derived_fields,
    gated_start,
    inject_start,
)
from tidegate.kinds.decode import read
from tidegate.kinds.policies.frameworks import framework

ROW = framework("batch/job")
MANAGED_BY = ManagedBy(path=parse_path(ROW.managed_by), own=ROW.controller)
_CONTROLLER_PATIENCE_S = 2.0
_POLL_S = 0.2
_LABELS = (
    "batch.kubernetes.io/controller-uid",
    "controller-uid",
    "batch.kubernetes.io/job-name",
    "job-name",
)


def has_immutable_template(job: Object) -> bool:
    """Return whether the API server would refuse a change of the template."""
    status = job.get("status", {})
    return status.get("startTime") is not None or status.get("active", 0) > 0


def unbind_step(job: Object, waited_s: float = _CONTROLLER_PATIENCE_S) -> Step:
    """Return the next step towards a free template, for where the Job's controller is slow.

    The status of a Job that another controller runs is that controller's.
    """
    if not job["spec"].get("suspend", False):
        return Patch(body={"spec": {"suspend": True}})
    started = job["status"].get("startTime") is not None
    if waited_s < _CONTROLLER_PATIENCE_S or not started or MANAGED_BY.other_controller(job):
        return Wait(after_s=_POLL_S)
    return Patch(body={"status": {"startTime": None}}, subresource="status")


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The changes of a start, as recorded in ``tidegate.dev/injected``."""

    main: InjectedFields = InjectedFields()
    parallelism: int | None = None  # as it was; None: not changed
    completions: int | None = None


def started_job(waiting: Object, start: Start) -> Object | Refused:
    """Return the Job as it should run."""
    podset = start.only_podset_start(PODSET)
    if isinstance(podset, Refused):
        return podset
    meta = waiting["metadata"]
    elastic = is_elastic(meta.get("annotations", {}))
    if has_gated_pods(meta.get("labels", {}), meta.get("annotations", {})):
        podset = gated_start(podset)
    problem = conflicting_key(waiting["spec"]["template"], podset)
    if problem:
        return Refused(reason="invalid", message=problem)
    template, added = inject_start(waiting["spec"]["template"], podset)
    sizes = {} if elastic else _resized(waiting, podset.count)
    note = Note(main=added, **{name: waiting["spec"].get(name, 1) for name in sizes})
    spec = {**waiting["spec"], "suspend": False, "template": template, **sizes}
    return with_decision(
        {**waiting, "spec": spec}, start.decision, note if note != Note() else None
    )


def _resized(waiting: Object, count: int) -> dict[str, int]:
    """Return the fields that partial admission changes."""
    if count >= parallel_pods(read(waiting["spec"], JobSpec)):
        return {}
    indexed = waiting["spec"].get("completionMode") == "Indexed"
    annotations = waiting["metadata"].get("annotations", {})
    both = indexed and has_synced_completions(annotations)
    return {"parallelism": count, **({"completions": count} if both else {})}


def original_job(job: Object, podsets: tuple[PodSetStart, ...] = ()) -> Object:
    """Return the Job as its owner wrote it; ``podsets``: what the ledger knows was put in."""
    return before_start(job, Note, _without_note, lambda: _derived_note(job, podsets))


def _derived_note(job: Object, podsets: tuple[PodSetStart, ...]) -> Note:
    """Return the note that the ledger's knowledge of a start amounts to."""
    start = next((podset for podset in podsets if podset.name == PODSET), None)
    if start is None:
        return Note()
    lowered = job["spec"].get("parallelism", 1) < start.count
    added = derived_fields(job["spec"]["template"], start)
    return Note(main=added, parallelism=start.count if lowered else None)


def _without_note(job: Object, note: Note) -> Object:
    spec = {**job["spec"], "template": without_injected(job["spec"]["template"], note.main)}
    if note.parallelism is not None:
        spec["parallelism"] = note.parallelism
    if note.completions is not None:
        spec["completions"] = note.completions
    return {**job, "spec": spec}


def without_controller_fields(job: Object) -> Object:
    """Return a Job without a selector, and without the labels that are selected by."""
    for path in (("spec", "selector"), ("spec", "manualSelector")):
        job = with_value(job, path, None)
    for place in (("metadata",), ("spec", "template", "metadata")):
        labels = value_at(job, (*place, "labels"))
        if isinstance(labels, dict):
            rest = {key: text for key, text in labels.items() if key not in _LABELS}
            job = with_value(job, (*place, "labels"), rest)
    return job
