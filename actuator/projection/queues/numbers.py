"""The numbers of ClusterQueues and LocalQueues: sums of what each of their workloads adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

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

    @property
    def is_empty(self) -> bool:
        """Tell whether no workload is counted in."""
        return not (self.pending or self.reserving)


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What one workload adds to the numbers of its queues."""

    cluster_queue: str = ""
    local_queue: str = ""
    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    usage: dict[tuple[str, str], int] = {}


NOTHING = Share()
"""The share of a workload that neither waits in a queue nor has quota."""


def workload_share(view: WorkloadView, cluster_queues: Mapping[str, str]) -> Share:
    """Return what a workload adds; ``cluster_queues`` is by LocalQueue."""
    leads_to = cluster_queues.get(view.local_queue, "")
    match view.phase:
        case "pending" if view.active and leads_to:
            return _pending(leads_to, view.local_queue)
        case "reserved" | "admitted":
            return Share(
                cluster_queue=view.cluster_queue,
                local_queue=view.local_queue,
                reserving=1,
                admitted=int(view.phase == "admitted"),
                usage=_usage_of(view),
            )
        case _:
            return NOTHING


@lru_cache(maxsize=1_024)
def _pending(cluster_queue: str, local_queue: str) -> Share:
    """Return the one object for all workloads that wait in a LocalQueue."""
    return Share(cluster_queue=cluster_queue, local_queue=local_queue, pending=1)


def _usage_of(view: WorkloadView) -> dict[tuple[str, str], int]:
    usage = dict[tuple[str, str], int]()
    for podset in view.assignment:
        remaining = _not_reclaimed(podset.count, view.reclaimable.get(podset.name, 0))
        remaining = min(remaining, view.counts.get(podset.name, remaining))
        for resource, units in podset.usage.items():
            place = podset.flavors.get(resource, ""), resource
            scaled = units * remaining // podset.count if podset.count else units
            usage[place] = usage.get(place, 0) + scaled
    return usage


def _not_reclaimed(count: int, reclaimed: int) -> int:
    return max(count - reclaimed, 0)


class QueueNumbers:
    """The numbers of each queue that has workloads, kept up as these change."""

    def __init__(self) -> None:
        self.cluster_queues = dict[str, Numbers]()
        self.local_queues = dict[str, Numbers]()  # by "<namespace>/<name>"
        self._shares = dict[str, Share]()  # by workload

    def replace(self, workload: str, new: Share) -> Iterator[tuple[Share, int]]:
        """Let a workload add something else; yield what is counted out (-1) and in (1)."""
        old = self._shares.pop(workload, NOTHING)
        if new != NOTHING:
            self._shares[workload] = new
        if old == new:
            return
        for share, sign in ((old, -1), (new, 1)):
            _count(self.cluster_queues, share.cluster_queue, share, sign)
            _count(self.local_queues, share.local_queue, share, sign)
            yield share, sign


def _count(numbers: dict[str, Numbers], queue: str, share: Share, sign: int) -> None:
    """Count one workload in (1) or out (-1); a queue without workloads keeps no numbers."""
    if not queue:
        return
    counted = numbers.setdefault(queue, Numbers())
    counted.add(share, sign)
    if counted.is_empty:
        del numbers[queue]
