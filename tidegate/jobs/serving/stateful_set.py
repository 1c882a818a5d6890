"""StatefulSet: one podset of all its replicas, let go as they are made.

Called: apps/v1 StatefulSet; implies ``pod``
Podsets: ``main``: ``spec.replicas``
Put in: as for a Pod, in each pod as it is let go; the template stays as it is
Restored: its pods are deleted, and those made again wait
Topology: by ``apps.kubernetes.io/pod-index``

Source: behaviour.md 16, StatefulSet.
"""

from __future__ import annotations

from tidegate.jobs.job_status import PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.serving.kinds import serving_kind
from tidegate.jobs.serving.members import Membership, SetLayout
from tidegate.jobs.templates.paths import number_at
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import SUSPENDING_PARENT
from tidegate.kinds.policies.templates.serving_kinds import serving
from tidegate.model.texts import parse_whole

NAME, PODSET = "statefulset", "main"
_INDEX = PodIndex(label="apps.kubernetes.io/pod-index")


def pod_count(obj: Object) -> int:
    """Return how many pods are asked for."""
    return number_at(obj, ("spec", "replicas"), 1)


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the one podset."""
    return (
        PodSetLocation(
            name=PODSET, count=pod_count(obj), template=("spec", "template"), index=_INDEX
        ),
    )


def membership(meta: ObjectMeta) -> Membership | None:
    """Return the owner of a pod, from the names its controller gives."""
    owner = meta.controller()
    suspends = meta.annotations.get(SUSPENDING_PARENT) == NAME
    if (
        owner is None
        or not suspends
        or (owner.api_version, owner.kind) != ("apps/v1", "StatefulSet")
    ):
        return None
    name, _, ordinal = meta.name.rpartition("-")
    if name != owner.name or parse_whole(ordinal) is None:
        return None
    return Membership(parent=owner.name, uid=owner.uid, podset=PODSET)


SET = serving_kind(
    serving(NAME),
    SetLayout(podset_locations=podset_locations, replicas=pod_count, membership=membership),
)
KIND = SET.row
