"""Facts about worker clusters, and about the copies of workloads there."""

from __future__ import annotations

from typing import TypeAlias

from tidegate.contracts.fact_kinds.definitions import Fact, Named
from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.model.quota import StopPolicy


class ClusterNamed(Named, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about a MultiKueueCluster or a MultiKueueConfig."""


class MultiKueueClusterDefined(
    ClusterNamed, frozen=True, kw_only=True, omit_defaults=True, tag="MultiKueueClusterDefined/1"
):
    """A MultiKueueCluster was created or changed."""

    stop_policy: StopPolicy = "None"  # Hold: no new workloads; HoldAndDrain: stop running ones, too


class MultiKueueClusterRemoved(
    ClusterNamed, frozen=True, kw_only=True, omit_defaults=True, tag="MultiKueueClusterRemoved/1"
):
    """A MultiKueueCluster was deleted: its workloads count as lost."""


class MultiKueueConfigDefined(
    ClusterNamed, frozen=True, kw_only=True, omit_defaults=True, tag="MultiKueueConfigDefined/1"
):
    """A MultiKueueConfig was created or changed."""

    clusters: tuple[str, ...] = ()


class MultiKueueConfigRemoved(
    ClusterNamed, frozen=True, kw_only=True, omit_defaults=True, tag="MultiKueueConfigRemoved/1"
):
    """A MultiKueueConfig was deleted."""


class RemoteClusterChanged(
    Fact, frozen=True, kw_only=True, omit_defaults=True, tag="RemoteClusterChanged/1"
):
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


class NominationReported(
    Fact, frozen=True, kw_only=True, omit_defaults=True, tag="NominationReported/1"
):
    """An external dispatcher wrote ``status.nominatedClusterNames`` of a Workload."""

    workload: str
    uid: str
    clusters: tuple[str, ...] = ()


class RemoteFact(Fact, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about a workload's copy on a worker cluster."""

    workload: str
    cluster: str


class RemoteWorkloadReported(
    RemoteFact, frozen=True, kw_only=True, omit_defaults=True, tag="RemoteWorkloadReported/1"
):
    """The state of a workload's copy on a worker cluster."""

    copy: RemoteCopy
    version: int = 0  # resourceVersion in that cluster


class RemoteWorkloadRemoved(
    RemoteFact, frozen=True, kw_only=True, omit_defaults=True, tag="RemoteWorkloadRemoved/1"
):
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
