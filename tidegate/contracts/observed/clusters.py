"""Observations of worker clusters, and of the copies of jobs and workloads there."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.contracts.observed.jobs import Observed
from tidegate.model.quota import StopPolicy

MULTIKUEUE_CLUSTERS = "multikueueclusters.kueue.x-k8s.io"
MULTIKUEUE_CONFIGS = "multikueueconfigs.kueue.x-k8s.io"
REMOTES = "remotes"
"""The resource in the subjects of the dispatcher's observations."""
STATUS_BYTES_MAX = 16_384
"""The size of a copy's status: a longer one is left out, and the job at home keeps its last."""


class MultiKueueClusterObserved(
    Observed, frozen=True, kw_only=True, tag="MultiKueueClusterObserved/1"
):
    """A MultiKueueCluster; the dispatcher reports whether it answers."""

    stop_policy: StopPolicy = "None"  # annotation tidegate.dev/stop-policy


class MultiKueueConfigObserved(
    Observed, frozen=True, kw_only=True, tag="MultiKueueConfigObserved/1"
):
    """A MultiKueueConfig."""

    clusters: tuple[str, ...] = ()  # MultiKueueClusters, in its order


class RemoteClusterObserved(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag="RemoteClusterObserved/1",
):
    """The dispatcher reached a worker cluster, or cannot reach it."""

    cluster: str  # the MultiKueueCluster's name
    session: str  # of the dispatcher
    connected: bool
    reason: str = ""  # of its condition Active
    message: str = ""


class RemoteCopy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a workload's copy on a worker cluster; times in UTC microseconds, 0: never."""

    reserved: bool = False
    admitted_us: int = 0
    evicted_us: int = 0
    finished_us: int = 0
    reason: str = ""  # of the finish
    message: str = ""  # of the finish
    differs: bool = False  # its spec differs from that of the workload here
    job: bool = False  # its job exists there, created by the dispatcher
    foreign: bool = False  # a job of that name exists that the dispatcher did not create
    synced: bool = False  # it is finished or has to stop, and its job's last status was copied


class RemoteWorkloadObserved(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag="RemoteWorkloadObserved/1",
):
    """A worker cluster has a copy of a workload, or no longer has one."""

    cluster: str
    workload: str  # "<namespace>/<name>", the same here and there
    session: str  # of the dispatcher
    version: int = 0  # resourceVersion in that cluster
    job_version: int = 0  # of the job here, with the last status copied to it; 0: not known
    copy: RemoteCopy | None = None  # None: there is no copy


ClusterObserved: TypeAlias = MultiKueueClusterObserved | MultiKueueConfigObserved
RemoteObserved: TypeAlias = RemoteClusterObserved | RemoteWorkloadObserved


class CopySeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An observed job is the copy of a job of another cluster.

    The observation's ``queue`` is then annotation tidegate.dev/origin-queue: the LocalQueue of the
    job at home, which decides to which partition the copy belongs. ``workload`` is the same as for
    any other job of that name, but the copy gets no workload.
    """

    origin: str  # annotation tidegate.dev/origin: uid of the job at home, as ``CopyOrdered.uid``
    status: str = ""
    """The copy's ``status`` as JSON text, keys sorted, without fields only for its controller
    (``uncountedTerminatedPods``), at most ``STATUS_BYTES_MAX`` bytes; empty: none. The actuator of
    the job's own cluster writes it there."""
