"""batch/v1 Jobs: defaults, and the rules that bite a controller which suspends and resumes them.

The rules are those of Kubernetes 1.36: a suspended Job's template may change once the Job never
started, or is known to be suspended and has no active pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from apiserver.kinds.templates import check_spec, default_spec
from apiserver.refusals import Cause, immutable, invalid_value, not_allowed, required, unsupported

Object = dict[str, Any]
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
)
_UNKNOWN = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes")
_IMMUTABLE = ("selector", "completionMode", "managedBy")
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def default_job(job: Object) -> None:
    """Write a Job's defaults, in place.

    Raises:
        RefusedError: 400, a quantity cannot be read.
    """
    spec = job.setdefault("spec", {})
    template = spec.setdefault("template", {})
    template.setdefault("spec", {})
    template.setdefault("metadata", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    default_spec(template["spec"])  # without a restart policy it is Always, which is refused below
    job.setdefault("status", {})


def prepare_job(job: Object) -> None:
    """Make the labels and the selector that tie a new Job to its pods, in place."""
    job["status"] = {}
    spec, metadata = job["spec"], job["metadata"]
    if spec["manualSelector"]:
        return
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for label in _NAME_LABELS:
        labels.setdefault(label, metadata["name"])
    for label in _UID_LABELS:
        labels.setdefault(label, metadata["uid"])
    selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    selector.setdefault(_UID_LABELS[1], metadata["uid"])
    if not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def check_job(job: Object) -> Iterator[Cause]:
    """Yield what is wrong with a Job."""
    spec, template = job["spec"], job["spec"]["template"]
    for field in _COUNTS:
        if spec.get(field, 0) < 0:
            yield invalid_value(f"spec.{field}", spec[field], "must be greater than or equal to 0")
    for field in _UNKNOWN:
        if field in spec:
            yield not_allowed(f"spec.{field}", "the embedded Job controller does not know it")
    if spec["completionMode"] not in ("NonIndexed", "Indexed"):
        yield unsupported("spec.completionMode", spec["completionMode"], ("NonIndexed", "Indexed"))
    if spec["completionMode"] == "Indexed" and "completions" not in spec:
        yield required("spec.completions", "when completion mode is Indexed")
    yield from check_spec(template["spec"], "spec.template.spec")
    if template["spec"]["restartPolicy"] == "Always":
        why = 'valid values: "OnFailure", "Never"'
        yield required("spec.template.spec.restartPolicy", why)
    yield from _check_labels(job)


def check_job_change(new: Object, old: Object) -> Iterator[Cause]:
    """Yield what a change does to a Job's spec that it may not."""
    spec, before = new["spec"], old["spec"]
    for field in _IMMUTABLE:
        if spec.get(field) != before.get(field):
            yield immutable(f"spec.{field}", spec.get(field))
    if spec.get("completions") != before.get("completions"):
        yield from _check_completions(spec)
    if not _is_template_mutable(old):
        if spec["template"] != before["template"]:
            yield immutable("spec.template", spec["template"])
    elif _immutable_fields(spec["template"]) != _immutable_fields(before["template"]):
        why = "pod template is immutable except for scheduling directives and resources"
        yield not_allowed("spec.template.spec", why)


def check_job_status(new: Object, old: Object) -> Iterator[Cause]:
    """Yield what a change does to a Job's status that it may not."""
    status, before = new.get("status") or {}, old.get("status") or {}
    for kind in ("Failed", "Complete", "FailureTarget"):
        if has_condition(old, kind) and not has_condition(new, kind):
            why = f"cannot disable the terminal {kind}=True condition"
            yield invalid_value("status.conditions", None, why)
    for field in ("failed", "succeeded"):
        if status.get(field, 0) < before.get(field, 0):
            yield invalid_value(
                f"status.{field}", status.get(field, 0), f"cannot decrease the {field} counter"
            )
    started, starts = before.get("startTime"), status.get("startTime")
    resumes = has_condition(old, "Suspended") and not has_condition(new, "Suspended")
    if started and started != starts and not new["spec"]["suspend"] and not resumes:
        why = "field is immutable for unsuspended job once set"
        yield invalid_value("status.startTime", starts, why)


def has_condition(job: Object, kind: str) -> bool:
    """Return whether a Job has a condition that is true."""
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(
        condition["type"] == kind and condition["status"] == "True" for condition in conditions
    )


def _is_template_mutable(old: Object) -> bool:
    status = old.get("status") or {}
    rests = not status.get("startTime") or has_condition(old, "Suspended")
    return bool(old["spec"]["suspend"] and rests and not status.get("active"))


def _immutable_fields(template: Object) -> Object:
    pod = deepcopy(template)
    pod["metadata"] = {
        key: value for key, value in pod["metadata"].items() if key not in ("labels", "annotations")
    }
    for field in _SCHEDULING:
        pod["spec"].pop(field, None)
    affinity = pod["spec"].get("affinity") or {}
    affinity.pop("nodeAffinity", None)
    if not affinity:
        pod["spec"].pop("affinity", None)
    for field in ("containers", "initContainers"):
        for container in pod["spec"].get(field) or []:
            container.pop("resources", None)
    return pod


def _check_completions(spec: Object) -> Iterator[Cause]:
    if spec["completionMode"] != "Indexed":
        yield immutable("spec.completions", spec.get("completions"))
    elif spec.get("completions") != spec["parallelism"]:
        why = "can only be modified in tandem with spec.parallelism"
        yield invalid_value("spec.completions", spec.get("completions"), why)


def _check_labels(job: Object) -> Iterator[Cause]:
    spec, metadata = job["spec"], job["metadata"]
    labels = spec["template"]["metadata"].get("labels") or {}
    match_labels = (spec.get("selector") or {}).get("matchLabels") or {}
    if not spec["manualSelector"]:
        for label in _UID_LABELS:
            if labels.get(label) != metadata["uid"]:
                at = f"spec.template.metadata.labels[{label}]"
                yield invalid_value(at, labels, f"must be '{metadata['uid']}'")
    if not match_labels:
        yield required("spec.selector")
    if any(labels.get(key) != value for key, value in match_labels.items()):
        why = "`selector` does not match template `labels`"
        yield invalid_value("spec.template.metadata.labels", labels, why)
