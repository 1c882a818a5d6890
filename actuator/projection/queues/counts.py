"""How many workloads wait in and hold quota of each queue, and how much: kept up as they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from actuator.projection.workload_view import WorkloadView

FlavorUsage = Counter[tuple[str, str]]


class Numbers(msgspec.Struct, kw_only=True):
    """One queue's numbers; amounts in base units by (flavor, resource)."""

    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    reserved_usage: FlavorUsage = msgspec.field(default_factory=Counter)
    admitted_usage: FlavorUsage = msgspec.field(default_factory=Counter)

    def add(self, share: Share, sign: int) -> None:
        """Count one workload in (1) or out again (-1)."""
        self.pending += sign * share.pending
        self.reserving += sign * share.reserving
        self.admitted += sign * share.admitted
        for place, units in share.usage.items():
            self.reserved_usage[place] += sign * units
            self.admitted_usage[place] += sign * units * share.admitted


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What one workload adds to the numbers of its queues."""

    cluster_queue: str = ""
    local_queue: str = ""
    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    usage: dict[tuple[str, str], int] = {}


def share(view: WorkloadView, cluster_queues: Mapping[str, str]) -> Share:
    """Return what a workload adds; ``cluster_queues`` is by LocalQueue."""
    leads_to = cluster_queues.get(view.local_queue, "")
    match view.phase:
        case "pending" if view.active and leads_to:
            return Share(cluster_queue=leads_to, local_queue=view.local_queue, pending=1)
        case "reserved" | "admitted":
            return Share(
                cluster_queue=view.cluster_queue,
                local_queue=view.local_queue,
                reserving=1,
                admitted=int(view.phase == "admitted"),
                usage=_usage(view),
            )
        case _:
            return Share()


def _usage(view: WorkloadView) -> dict[tuple[str, str], int]:
    usage = dict[tuple[str, str], int]()
    for podset in view.assignment:
        remaining = _left(podset.count, view.reclaimable.get(podset.name, 0))
        remaining = min(remaining, view.counts.get(podset.name, remaining))
        for resource, units in podset.usage.items():
            place = podset.flavors.get(resource, ""), resource
            scaled = units * remaining // podset.count if podset.count else units
            usage[place] = usage.get(place, 0) + scaled
    return usage


def _left(count: int, reclaimed: int) -> int:
    return max(count - reclaimed, 0)
