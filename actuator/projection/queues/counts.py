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


def share(shown: WorkloadView, cluster_queues: Mapping[str, str]) -> Share:
    """Return what a workload adds; ``cluster_queues`` is by LocalQueue."""
    leads_to = cluster_queues.get(shown.local_queue, "")
    match shown.phase:
        case "pending" if shown.active and leads_to:
            return Share(cluster_queue=leads_to, local_queue=shown.local_queue, pending=1)
        case "reserved" | "admitted":
            return Share(
                cluster_queue=shown.cluster_queue,
                local_queue=shown.local_queue,
                reserving=1,
                admitted=int(shown.phase == "admitted"),
                usage=_usage(shown),
            )
        case _:
            return Share()


def _usage(shown: WorkloadView) -> dict[tuple[str, str], int]:
    usage = dict[tuple[str, str], int]()
    for podset in shown.assignment:
        left = _left(podset.count, shown.reclaimable.get(podset.name, 0))
        left = min(left, shown.counts.get(podset.name, left))
        for resource, units in podset.usage.items():
            place = podset.flavors.get(resource, ""), resource
            scaled = units * left // podset.count if podset.count else units
            usage[place] = usage.get(place, 0) + scaled
    return usage


def _left(count: int, reclaimed: int) -> int:
    return max(count - reclaimed, 0)
