"""Facts about worker clusters, and about the copies of workloads that they were sent."""

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
    """A MultiKueueCluster was made or changed."""

    stop_policy: StopPolicy = "None"  # Hold: it gets nothing new; HoldAndDrain: nor runs anything


class MultiKueueClusterRemoved(
    ClusterNamed, frozen=True, kw_only=True, omit_defaults=True, tag="MultiKueueClusterRemoved/1"
):
    """A MultiKueueCluster is gone: what runs there counts as lost from now on."""


class MultiKueueConfigDefined(
    ClusterNamed, frozen=True, kw_only=True, omit_defaults=True, tag="MultiKueueConfigDefined/1"
):
    """A MultiKueueConfig was made or changed."""

    clusters: tuple[str, ...] = ()


class MultiKueueConfigRemoved(
    ClusterNamed, frozen=True, kw_only=True, omit_defaults=True, tag="MultiKueueConfigRemoved/1"
):
    """A MultiKueueConfig is gone."""


class RemoteClusterChanged(
    Fact, frozen=True, kw_only=True, omit_defaults=True, tag="RemoteClusterChanged/1"
):
    """A worker cluster answers by now, or no longer, or another dispatcher asks it."""

    cluster: str
    connected: bool
    session: str = ""  # of the dispatcher: a new one knows nothing of what was ordered
    reason: str = ""
    message: str = ""


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
    """How a workload's copy stands on a worker cluster."""

    copy: RemoteCopy
    version: int = 0  # resourceVersion in that cluster


class RemoteWorkloadRemoved(
    RemoteFact, frozen=True, kw_only=True, omit_defaults=True, tag="RemoteWorkloadRemoved/1"
):
    """A worker cluster has no copy of a workload any more."""


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
