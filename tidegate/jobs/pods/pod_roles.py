"""The role of a pod in its group: which podset it is counted in, and what that podset asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.pods.pod_templates import pod_template
from tidegate.kinds import names
from tidegate.kinds.pods import Pod
from tidegate.kinds.podsets import pod_set
from tidegate.model.texts import is_name

_ROLE_DIGITS, _ROLE_MAX = 8, 63


def role(pod: Pod) -> str:
    """Return the role of a pod: from its start's annotation, else a digest of its spec."""
    hashed = pod.metadata.annotations.get(names.ROLE_HASH, "")
    if is_name(hashed) and len(hashed) <= _ROLE_MAX:
        return hashed
    shape = msgspec.json.encode(pod_set(pod_template(pod), name=""), order="sorted")
    return hashlib.sha256(shape).hexdigest()[:_ROLE_DIGITS]


def alike(name: str, pods: Sequence[Pod]) -> None:
    """Demand that pods of one role ask for the same: one of them is charged for all.

    Any user may set the annotation of the role on a pod.

    Raises:
        UndecodableError: they ask for different resources.
    """
    requests = [_asked(pod) for pod in pods]
    if any(request != requests[0] for request in requests):
        raise UndecodableError(f"Pods of role {name} ask for different resources.")


def _asked(pod: Pod) -> tuple[object, ...]:
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
