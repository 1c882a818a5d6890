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
    """Return the role of a pod: what it said when it started, else a digest of its shape."""
    known = pod.metadata.annotations.get(names.ROLE_HASH, "")
    if is_name(known) and len(known) <= _ROLE_MAX:
        return known
    shape = msgspec.json.encode(pod_set(pod_template(pod), name=""), order="sorted")
    return hashlib.sha256(shape).hexdigest()[:_ROLE_DIGITS]


def alike(name: str, pods: Sequence[Pod]) -> None:
    """Demand that pods of one role ask for the same: one of them is charged for all.

    Anybody may write the role on his pod.

    Raises:
        UndecodableError: they ask for different resources.
    """
    asked = [_asked(one) for one in pods]
    if any(one != asked[0] for one in asked):
        raise UndecodableError(f"Pods of role {name} ask for different resources.")


def _asked(pod: Pod) -> tuple[object, ...]:
    spec = pod.spec
    inits = [(one.resources, one.restart_policy) for one in spec.init_containers]
    return [one.resources for one in spec.containers], inits, spec.resources, spec.overhead
