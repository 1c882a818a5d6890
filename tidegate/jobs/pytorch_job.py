"""PyTorchJob: a podset for its master and one for its workers, suspended by its run policy.

Its controller makes the pods, and counts none as active once it has suspended the job.

Source: behaviour.md 16, Kubeflow v1 jobs.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.errors import UndecodableError
from tidegate.jobs.conditions import holding, outcome
from tidegate.jobs.kind import Object
from tidegate.jobs.layout import Layout, Place, Standing
from tidegate.jobs.paths import Path, found_at, number_at, shown, text_at
from tidegate.jobs.suspended import Identity, suspended_kind

_POLICY = ("spec", "runPolicy")
_REPLICAS = ("spec", "pytorchReplicaSpecs")
_STATUSES = ("status", "replicaStatuses")
_ROLES = ("Master", "Worker")
_OUTCOMES = {"Succeeded": "Succeeded", "Failed": "Failed"}


def places(obj: Object) -> tuple[Place, ...]:
    """Return the podsets, one a role that is there, the master first.

    Raises:
        UndecodableError: there is another role: its pods would run and be charged to nobody.
    """
    there = _by_role(obj, _REPLICAS)
    unknown = sorted(there.keys() - set(_ROLES))
    if unknown:
        known = " and ".join(_ROLES)
        raise UndecodableError(f"{shown(_REPLICAS)}: {unknown[0]!r} is no role; {known} are.")
    return tuple(
        Place(
            name=role.lower(),
            count=number_at(obj, (*_REPLICAS, role, "replicas"), 1),
            template=(*_REPLICAS, role, "template"),
        )
        for role in _ROLES
        if there.get(role) is not None
    )


def standing(obj: Object) -> Standing:
    """Return how a PyTorchJob stands; it gives no pods back before its end."""
    finished, message = outcome(obj, _OUTCOMES)
    statuses = _by_role(obj, _STATUSES)
    return Standing(
        finished=finished,
        message=message,
        active=sum(number_at(obj, (*_STATUSES, role, "active")) for role in statuses),
        ready=holding(obj, ("Running",)) is not None,
    )


def priority_class(obj: Object) -> str:
    """Return the class that its run policy asks for, empty for none."""
    return text_at(obj, (*_POLICY, "schedulingPolicy", "priorityClass"))


def _by_role(obj: Object, path: Path) -> Mapping[str, object]:
    found = found_at(obj, path)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise UndecodableError(f"{shown(path)}: this is not an object.")
    return found


KIND = suspended_kind(
    Identity(
        name="kubeflow.org/pytorchjob",
        group="kubeflow.org",
        version="v1",
        kind="PyTorchJob",
        plural="pytorchjobs",
    ),
    Layout(
        suspend=(*_POLICY, "suspend"),
        places=places,
        standing=standing,
        priority_class=priority_class,
    ),
)
