"""Jobs whose deleted pods stay on a node that does not answer: observed again without them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import msgspec

from ingest.jobs.ownership import ResourceObservation
from ingest.watched_resource import WatchedResource
from tidegate.jobs.grace_periods import Grace, grace_of
from tidegate.kinds.pods import Pod
from tidegate.service.clock import utc_now_us


@dataclass(frozen=True, slots=True)
class GraceRule:
    """For how long pods that are being deleted count."""

    now_us: Callable[[], int] = utc_now_us
    """The time in UTC microseconds; the API server's clock may differ by seconds."""
    fast_release: bool = False
    """Not at all, as with the gate FastQuotaReleaseInPodIntegration: Pods, not Jobs' pods."""

    def grace_of(self, obj: object) -> Grace | None:
        """See ``tidegate.jobs.grace_periods.grace_of``."""
        grace = grace_of(obj)
        if grace is not None and self.fast_release and isinstance(obj, Pod):
            return Grace(until_us=0, expired=grace.expired)
        return grace


def with_grace_periods(row: WatchedResource, rule: GraceRule) -> WatchedResource:
    """Return the watch of a kind of jobs, in which pods count until their grace period is over."""
    periods = GracePeriods(row, rule)
    return msgspec.structs.replace(
        row,
        observe=periods.observe,
        gone=periods.gone,
        listed=periods.listed,
        expired=periods.expired,
    )


class GracePeriods:
    """The objects of one resource whose pods are being deleted, by uid."""

    def __init__(self, row: WatchedResource, rule: GraceRule) -> None:
        self._row, self._rule = row, rule
        self._running = dict[str, Grace]()
        self._ends = list[tuple[int, str]]()  # heap; some are of objects that changed since

    def observe(self, obj: Any) -> Iterable[ResourceObservation]:  # noqa: ANN401 - the resource's kind
        """See ``WatchedResource.observe``."""
        uid = obj.metadata.uid
        before, grace = self._running.pop(uid, None), self._rule.grace_of(obj)
        if grace is None:
            return self._row.observe(obj)
        if grace.until_us <= self._rule.now_us():
            return self._row.observe(grace.expired)
        self._running[uid] = grace
        if before is None or before.until_us != grace.until_us:
            heappush(self._ends, (grace.until_us, uid))
        return self._row.observe(obj)

    def gone(self, uid: str, version: int) -> Iterable[ResourceObservation]:
        """See ``WatchedResource.gone``."""
        self._running.pop(uid, None)
        return self._row.gone(uid, version)

    def listed(self, present: Collection[str], version: int) -> Iterable[ResourceObservation]:
        """See ``WatchedResource.listed``."""
        for uid in self._running.keys() - set(present):
            del self._running[uid]
        return self._row.listed(present, version)

    def expired(self) -> Iterator[Any]:
        """See ``WatchedResource.expired``."""
        yield from self._row.expired()
        now_us = self._rule.now_us()
        while self._ends and self._ends[0][0] <= now_us:
            until_us, uid = heappop(self._ends)
            grace = self._running.get(uid)
            if grace is not None and grace.until_us == until_us:
                del self._running[uid]
                yield grace.expired
