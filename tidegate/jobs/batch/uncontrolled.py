"""A batch Job without what its controller put in: elsewhere that would be another Job's."""

from __future__ import annotations

from tidegate.jobs.kind import Object
from tidegate.jobs.templates.paths import found_at, with_value

_LABELS = (
    "batch.kubernetes.io/controller-uid",
    "controller-uid",
    "batch.kubernetes.io/job-name",
    "job-name",
)


def uncontrolled(job: Object) -> Object:
    """Return a Job without a selector, and without the labels that are selected by."""
    for path in (("spec", "selector"), ("spec", "manualSelector")):
        job = with_value(job, path, None)
    for place in (("metadata",), ("spec", "template", "metadata")):
        labels = found_at(job, (*place, "labels"))
        if isinstance(labels, dict):
            rest = {key: text for key, text in labels.items() if key not in _LABELS}
            job = with_value(job, (*place, "labels"), rest)
    return job
