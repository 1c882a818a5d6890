"""Decisions about queues, and the roots of all decisions."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.contracts.facts import Event


class Decision(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Root of the decisions; never written itself."""


class WorkloadDecision(Decision, frozen=True, kw_only=True, omit_defaults=True):
    """A decision about one workload."""

    workload: str  # "<namespace>/<name>"
    uid: str = ""
    cluster_queue: str = ""
    cycle: int = 0  # the scheduling cycle, if flavor scans depend on it; else 0


class ClusterQueueReadinessChanged(
    Decision, frozen=True, kw_only=True, omit_defaults=True, tag="ClusterQueueReadinessChanged/1"
):
    """A ClusterQueue became active or inactive; the reasons are those of Kueue's Active."""

    cluster_queue: str
    active: bool
    reason: str
    message: str = ""


class ClusterQueueReleased(
    Decision, frozen=True, kw_only=True, omit_defaults=True, tag="ClusterQueueReleased/1"
):
    """The last usage of a deleted ClusterQueue was released: its quota no longer counts."""

    cluster_queue: str


class SampledUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decayed usage that one LocalQueue has consumed."""

    namespace: str
    name: str
    consumed: dict[str, str] = {}  # resource to cores, bytes or pieces, decimal text


class LocalQueueUsageSampled(
    Decision, frozen=True, kw_only=True, omit_defaults=True, tag="LocalQueueUsageSampled/1"
):
    """The usage of the LocalQueues of a ClusterQueue, for admission fair sharing."""

    cluster_queue: str
    usage: tuple[SampledUsage, ...] = ()


QueueDecision: TypeAlias = (
    ClusterQueueReadinessChanged | ClusterQueueReleased | LocalQueueUsageSampled
)
