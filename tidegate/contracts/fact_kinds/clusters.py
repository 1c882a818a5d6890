"""Facts about worker clusters, and about the copies of jobs and workloads there.

The rules for the copies of placed jobs are docs/adr/0029.
"""

from __future__ import annotations

from typing import TypeAlias

from tidegate.contracts.fact_kinds.definitions import Fact, Named
from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.contracts.observed.jobs import JobState
from tidegate.model.ids import ObjectRef
from tidegate.model.quota import StopPolicy


class ClusterNamed(Named, frozen=True, kw_only=True):
    """A fact about a MultiKueueCluster or a MultiKueueConfig."""


class MultiKueueClusterDefined(
    ClusterNamed, frozen=True, kw_only=True, tag="MultiKueueClusterDefined/1"
):
    """A MultiKueueCluster was created or changed."""

    stop_policy: StopPolicy = "None"  # Hold: no new workloads; HoldAndDrain: stop running ones, too


class MultiKueueClusterRemoved(
    ClusterNamed, frozen=True, kw_only=True, tag="MultiKueueClusterRemoved/1"
):
    """A MultiKueueCluster was deleted: its workloads count as lost."""


class MultiKueueConfigDefined(
    ClusterNamed, frozen=True, kw_only=True, tag="MultiKueueConfigDefined/1"
):
    """A MultiKueueConfig was created or changed."""

    clusters: tuple[str, ...] = ()


class MultiKueueConfigRemoved(
    ClusterNamed, frozen=True, kw_only=True, tag="MultiKueueConfigRemoved/1"
):
    """A MultiKueueConfig was deleted."""


class RemoteClusterChanged(Fact, frozen=True, kw_only=True, tag="RemoteClusterChanged/1"):
    """A worker cluster answers again or no longer, or another dispatcher connects to it.

    Of a member cluster (``@<cluster>``): it sends heartbeats, is silent, or was replaced by another
    cluster.
    """

    cluster: str
    connected: bool
    session: str = ""  # of the dispatcher: a new one does not know earlier orders
    reason: str = ""
    message: str = ""
    cluster_uid: str = ""  # of a member's Namespace kube-system; empty: not known


class NominationReported(Fact, frozen=True, kw_only=True, tag="NominationReported/1"):
    """An external dispatcher wrote ``status.nominatedClusterNames`` of a Workload."""

    workload: str
    uid: str
    clusters: tuple[str, ...] = ()


class RemoteFact(Fact, frozen=True, kw_only=True):
    """A fact about a workload's copy on a worker cluster."""

    workload: str
    cluster: str


class RemoteWorkloadReported(RemoteFact, frozen=True, kw_only=True, tag="RemoteWorkloadReported/1"):
    """The state of a workload's copy on a worker cluster."""

    copy: RemoteCopy
    version: int = 0  # resourceVersion in that cluster


class RemoteWorkloadRemoved(RemoteFact, frozen=True, kw_only=True, tag="RemoteWorkloadRemoved/1"):
    """A worker cluster no longer has a copy of a workload."""


ClusterDefinition: TypeAlias = (
    MultiKueueClusterDefined
    | MultiKueueClusterRemoved
    | MultiKueueConfigDefined
    | MultiKueueConfigRemoved
)
ClusterFact: TypeAlias = (
    ClusterDefinition
    | RemoteClusterChanged
    | NominationReported
    | RemoteWorkloadReported
    | RemoteWorkloadRemoved
)


class CopyFact(Fact, frozen=True, kw_only=True):
    """A fact about the copy of a placed job, or about the job at home."""

    workload: str = ""  # "<namespace>/<name>@<home>" of the job at home; empty: not known
    uid: str  # of the job at home, as ``CopySeen.origin`` has it


class CopyReported(CopyFact, frozen=True, kw_only=True, tag="CopyReported/1"):
    """A copy exists, or its state changed: the state of the one with quota is its workload's.

    The actuator of the job's own cluster writes ``status`` into the job there. A copy in another
    cluster than that of ``QuotaReserved.cluster`` does not change the job's status.
    """

    copy: ObjectRef  # with its own uid, "<uid>@<cluster>", and its cluster
    resource: str = ""  # of the watch that reads it, "jobs.batch@<cluster>"
    queue: str = ""  # LocalQueue of the job at home, as the copy says
    version: int = 0
    state: JobState
    ready: bool = False  # all its pods are ready
    finished: str = ""  # Succeeded, Failed or a special reason; empty: not finished
    message: str = ""  # of the finish
    status: str = ""  # see ``CopySeen.status``


class CopyRemoved(CopyFact, frozen=True, kw_only=True, tag="CopyRemoved/1"):
    """A copy was deleted, by a list or a watch of its cluster: none of its pods runs."""

    copy: ObjectRef
    version: int = 0


class EndShown(CopyFact, frozen=True, kw_only=True, tag="EndShown/1"):
    """The job at home shows its copy's end in its status: the copy may be deleted.

    With an empty reason it shows none any more: its cluster was restored from a backup.
    """

    version: int = 0  # resourceVersion of the job at home
    reason: str  # Succeeded, Failed or a special reason; empty: no end
    message: str = ""


class HomeGone(CopyFact, frozen=True, kw_only=True, tag="HomeGone/1"):
    """The job at home was deleted, and its copy may run: ``WorkloadRemoved`` follows the copy."""

    version: int = 0  # of the removal


CopyEvent: TypeAlias = CopyReported | CopyRemoved | EndShown | HomeGone
