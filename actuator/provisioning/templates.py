"""The objects that are made, and their names: requests, and the templates of their pods."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Iterable

import msgspec

from actuator.provisioning.podsets import MergedPodSets
from tidegate.contracts.decisions import PodSetStart
from tidegate.errors import NotSupportedError
from tidegate.jobs.kind import Object
from tidegate.jobs.templates.template import conflicting_key, inject_start
from tidegate.kinds import names
from tidegate.kinds.kueue_api.checks import ProvisioningRequestConfigSpec
from tidegate.kinds.kueue_api.flavors import ResourceFlavorSpec
from tidegate.kinds.podsets import toleration

CONTROLLER = "kueue.x-k8s.io/provisioning-request"
GROUP, VERSION = "autoscaling.x-k8s.io", "v1"
RESOURCE = f"provisioningrequests.{GROUP}"
REQUESTS = f"/apis/{GROUP}/{VERSION}/provisioningrequests"
CONSUMES = f"{GROUP}/consume-provisioning-request"
CLASS_NAME = f"{GROUP}/provisioning-class-name"
_WHOLE_MAX = 247
"""So long a name may be and stay whole; a dash and five digits of the hash fit behind it."""
_HASH_DIGITS = 5
_ATTEMPTS_MAX = 1_000
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_STALE = (CONSUMES, CLASS_NAME, names.WORKLOAD)
_LABELS = {names.MANAGED: "true"}


def request_name(workload: str, check: str, attempt: int) -> str:
    """Return the name of a workload's n-th request for a check."""
    return _shortened(f"{workload}-{check}-{attempt}")


def template_name(request: str, podset: str) -> str:
    """Return the name of the PodTemplate that a request has for a podset."""
    return _shortened(f"ppt-{request}-{podset}")


def attempt_of(request: str, workload: str, check: str) -> int:
    """Return which attempt a request is for this workload and check; 0 if it is for another."""
    prefix = f"{workload}-{check}-"
    if len(request) <= _WHOLE_MAX:
        number = request.removeprefix(prefix)
        matches = request.startswith(prefix) and _NUMBER.fullmatch(number)
        return int(number) if matches else 0
    numbers = range(1, _ATTEMPTS_MAX + 1)
    return next((number for number in numbers if _shortened(f"{prefix}{number}") == request), 0)


def _shortened(name: str) -> str:
    if len(name) <= _WHOLE_MAX:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:_WHOLE_MAX]}-{digest[:_HASH_DIGITS]}"


class RequestToCreate(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is to be made."""

    check: str
    name: str
    class_name: str
    parameters: dict[str, str]
    parts: tuple[MergedPodSets, ...]


def parameters(obj: Object, config: ProvisioningRequestConfigSpec) -> dict[str, str]:
    """Return a request's parameters: the config's, and over them those of the Workload."""
    source: dict[str, str] = obj["metadata"].get("annotations", {})
    own = {
        key.removeprefix(names.REQUEST_PARAMETER): value
        for key, value in source.items()
        if key.startswith(names.REQUEST_PARAMETER)
    }
    return {**config.parameters, **own}


def request_object(workload: Object, ask: RequestToCreate) -> Object:
    """Return a ProvisioningRequest for a Workload."""
    pod_sets = [
        {"podTemplateRef": {"name": template_name(ask.name, part.names[0])}, "count": part.count}
        for part in ask.parts
    ]
    spec = {"provisioningClassName": ask.class_name, "podSets": pod_sets}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "ProvisioningRequest",
        "metadata": _metadata(workload, ask.name),
        "spec": {**spec, "parameters": ask.parameters} if ask.parameters else spec,
    }


def template_object(
    workload: Object,
    ask: RequestToCreate,
    part: MergedPodSets,
    flavors: Iterable[ResourceFlavorSpec],
) -> Object:
    """Return the PodTemplate of one part; the request takes it over from the Workload.

    Raises:
        NotSupportedError: the pods and their flavors do not agree; the message names the key.
    """
    template = copy.deepcopy(part.template)
    annotations = template.get("metadata", {}).get("annotations", {})
    for key in _STALE:
        annotations.pop(key, None)
    template.get("spec", {}).pop("schedulingGates", None)
    start = _podset_start(part, flavors)
    contradiction = conflicting_key(template, start)
    if contradiction:
        raise NotSupportedError(contradiction)
    template, _ = inject_start(template, start)
    _fill_requests(template)
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": _metadata(workload, template_name(ask.name, part.names[0])),
        "template": template,
    }


def request_owner_references(meta: Object) -> list[Object]:
    """Return the owner references that make a request, by its metadata, the owner."""
    return [_owner_reference(f"{GROUP}/{VERSION}", "ProvisioningRequest", meta)]


def _metadata(obj: Object, name: str) -> Object:
    owner = _owner_reference(f"{names.GROUP}/{names.VERSIONS[0]}", "Workload", obj["metadata"])
    return {
        "name": name,
        "namespace": obj["metadata"]["namespace"],
        "labels": _LABELS,
        "ownerReferences": [owner],
    }


def _owner_reference(version: str, kind: str, meta: Object) -> Object:
    # It blocks no deletion: that would take a right over the owner's finalizers.
    head = {"apiVersion": version, "kind": kind, "controller": True}
    return {**head, "name": meta["name"], "uid": meta["uid"]}


def _podset_start(part: MergedPodSets, flavors: Iterable[ResourceFlavorSpec]) -> PodSetStart:
    specs = tuple(flavors)
    tolerations = (toleration(written) for spec in specs for written in spec.tolerations)
    return PodSetStart(
        name=part.names[0],
        count=part.count,
        node_selector={key: value for spec in specs for key, value in spec.node_labels.items()},
        tolerations=tuple(dict.fromkeys(tolerations)),
    )


def _fill_requests(template: Object) -> None:
    """Let each limit stand for a request that is missing, as the API server does for pods."""
    spec = template.get("spec", {})
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
