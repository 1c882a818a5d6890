"""LeaderWorkerSet: each of its groups is a job, of a leader and workers or of equal pods.

Its pods are made by StatefulSets: one of all leaders, and one of the workers behind each leader.

Called: LeaderWorkerSet v1; implies ``pod``
Podsets: a Workload for each group: ``leader``: 1 pod and ``worker``: size - 1, or ``main``: size
Put in: as for a Pod, in each pod as it is let go; the template stays as it is
Restored: its pods are deleted, and those made again wait
Topology: by ``leaderworkerset.sigs.k8s.io/worker-index``

Source: behaviour.md 16, LeaderWorkerSet.
"""

from __future__ import annotations

from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.serving.kinds import serving_kind
from tidegate.jobs.serving.members import Membership, SetLayout
from tidegate.jobs.templates.paths import Path, number_at, value_at
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import SUSPENDING_PARENT
from tidegate.kinds.policies.templates.serving_kinds import serving
from tidegate.model.texts import parse_whole

NAME = "leaderworkerset.x-k8s.io/leaderworkerset"
LEADER, WORKER, MAIN = "leader", "worker", "main"
_OF_SET = "leaderworkerset.sigs.k8s.io/name"
_OF_GROUP = "leaderworkerset.sigs.k8s.io/group-index"
_OF_WORKER = "leaderworkerset.sigs.k8s.io/worker-index"
_INDEX = PodIndex(label=_OF_WORKER)
_SPEC: Path = ("spec", "leaderWorkerTemplate")
_LEADERS, _WORKERS = (*_SPEC, "leaderTemplate"), (*_SPEC, "workerTemplate")


def group_count(obj: Object) -> int:
    """Return how many groups are asked for."""
    return number_at(obj, ("spec", "replicas"), 1)


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets of one group.

    Raises:
        UndecodableError: it has no pods.
    """
    size = number_at(obj, (*_SPEC, "size"), 1)
    if size < 1:
        raise UndecodableError("spec.leaderWorkerTemplate.size: a group has at least one pod.")
    if value_at(obj, _LEADERS) is None:
        return (PodSetLocation(name=MAIN, count=size, template=_WORKERS, index=_INDEX),)
    return (
        PodSetLocation(name=LEADER, count=1, template=_LEADERS),
        PodSetLocation(name=WORKER, count=size - 1, template=_WORKERS, index=_INDEX),
    )


def membership(meta: ObjectMeta) -> Membership | None:
    """Return the owner of a pod, from the labels that its controllers set."""
    owner = meta.controller()
    name, index = meta.labels.get(_OF_SET, ""), parse_whole(meta.labels.get(_OF_GROUP, ""))
    suspends = meta.annotations.get(SUSPENDING_PARENT) == NAME and owner is not None
    if not suspends or not name or index is None or owner is None or owner.kind != "StatefulSet":
        return None
    if meta.name != f"{name}-{index}" and not meta.name.startswith(f"{name}-{index}-"):
        return None
    leads = meta.labels.get(_OF_WORKER, "0") == "0"
    return Membership(parent=name, index=index, podset=LEADER if leads else WORKER)


SET = serving_kind(
    serving(NAME),
    SetLayout(
        podset_locations=podset_locations, replicas=group_count, membership=membership, grouped=True
    ),
)
KIND = SET.row
