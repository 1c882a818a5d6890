"""A pod as the template that it could have been made from."""

from __future__ import annotations

from tidegate.jobs.kind import Object
from tidegate.jobs.templates.written import written_podset
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex
from tidegate.kinds.pods import Pod, PodTemplateSpec, TemplateMeta

LABEL_MAX = 317
"""Characters of the key of a label: its prefix, a slash and its name."""


def pod_template(pod: Pod) -> PodTemplateSpec:
    """Return a pod as the template that it could have been made from."""
    meta = TemplateMeta(labels=pod.metadata.labels, annotations=pod.metadata.annotations)
    return PodTemplateSpec(metadata=meta, spec=pod.spec)


def pod_podset(pod: Object, name: str, count: int) -> Object:
    """Return a podset of pods like this one as a Workload shows it.

    Its template has no metadata, and no gates: those are of the pods' waiting.
    """
    spec = {key: value for key, value in pod["spec"].items() if key != "schedulingGates"}
    marks = pod["metadata"].get("annotations", {})
    named = marks.get(names.POD_INDEX_LABEL, "")
    index = PodIndex(label=named if 0 < len(named) <= LABEL_MAX else names.POD_INDEX)
    return written_podset(name, count, {"metadata": {}, "spec": spec}, marks=marks, index=index)
