"""The role of a pod in its group: which podset it is counted in, and what that podset asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Object
from tidegate.jobs.templates.podsets import written_podset
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex
from tidegate.kinds.pods import Pod, PodTemplateSpec, TemplateMeta
from tidegate.kinds.podsets import pod_set
from tidegate.model.texts import is_name

LABEL_MAX = 317
"""Characters of the key of a label: its prefix, a slash and its name."""
_ROLE_DIGITS, _ROLE_MAX = 8, 63


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


def role(pod: Pod) -> str:
    """Return the role of a pod: from its start's annotation, else a digest of its spec."""
    hashed = pod.metadata.annotations.get(names.ROLE_HASH, "")
    if is_name(hashed) and len(hashed) <= _ROLE_MAX:
        return hashed
    shape = msgspec.json.encode(pod_set(pod_template(pod), name=""), order="sorted")
    return hashlib.sha256(shape).hexdigest()[:_ROLE_DIGITS]


def check_same_requests(name: str, pods: Sequence[Pod]) -> None:
    """Demand that pods of one role ask for the same: one of them is charged for all.

    Any user may set the annotation of the role on a pod.

    Raises:
        UndecodableError: they ask for different resources.
    """
    requests = [_requests_of(pod) for pod in pods]
    if any(request != requests[0] for request in requests):
        raise UndecodableError(f"Pods of role {name} ask for different resources.")


def _requests_of(pod: Pod) -> tuple[object, ...]:
    spec = pod.spec
    inits = [
        (init_container.resources, init_container.restart_policy)
        for init_container in spec.init_containers
    ]
    return (
        [container.resources for container in spec.containers],
        inits,
        spec.resources,
        spec.overhead,
        spec.resource_claims,
    )
