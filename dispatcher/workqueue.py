"""The workqueue: which workloads to reconcile, and at which worker cluster.

A cluster that is slow, or that reports its objects without end, takes no more than its share: so
many workloads at once, and none more often than each ``PACE_S``; one that changed again by then
rests twice as long the next time.
"""

from __future__ import annotations

import asyncio

WIDTH = 8
"""Workloads that are reconciled concurrently at one cluster."""
PACE_S, PACE_S_MAX = 0.2, 5.0
"""Seconds between two reconciliations of a workload, however often its cluster reports it."""
Place = tuple[str, str]
"""A worker cluster and a workload, ``<namespace>/<name>``."""


class WorkQueue:
    """Places by cluster, in the order in which they came; no two tasks look at the same one."""

    def __init__(self) -> None:
        self._due = dict[str, dict[str, int]]()  # by cluster and workload: how often it was tried
        self._busy = dict[str, int]()  # by cluster: how many are looked at
        self._held = set[Place]()  # those that are looked at, or rest
        self._paces = dict[Place, float]()  # of those that changed before their last rest was over
        self._timers = dict[Place, asyncio.TimerHandle]()
        self._news = asyncio.Event()

    def add(self, place: Place, tries: int = 0) -> None:
        """Queue a workload; a new reason resets its tries."""
        cluster, workload = place
        due = self._due.setdefault(cluster, {})
        due[workload] = min(tries, due.get(workload, tries))
        self._news.set()

    def add_after(self, place: Place, wait_s: float, tries: int = 0) -> None:
        """Queue a workload after ``wait_s``, or earlier if it is queued already."""
        loop, timer = asyncio.get_running_loop(), self._timers.get(place)
        if timer is not None and timer.when() <= loop.time() + wait_s:
            return
        if timer is not None:
            timer.cancel()
        self._timers[place] = loop.call_later(wait_s, self._add_when_due, place, tries)

    async def get(self) -> tuple[Place, int]:
        """Return the next place that may be looked at, and how often it was tried."""
        while True:
            for cluster, due in self._due.items():
                if self._busy.get(cluster, 0) >= WIDTH:
                    continue
                for workload in due:
                    if (cluster, workload) not in self._held:
                        return self._mark_processing(cluster, workload)
            self._news.clear()
            await self._news.wait()

    def finish(self, place: Place) -> None:
        """Release a workload: others may run at this cluster, and the same one after a pause."""
        self._busy[place[0]] -= 1
        pace_s = self._paces.get(place, PACE_S)
        asyncio.get_running_loop().call_later(pace_s, self._mark_done, place, pace_s)
        self._news.set()

    def _mark_processing(self, cluster: str, workload: str) -> tuple[Place, int]:
        tries, place = self._due[cluster].pop(workload), (cluster, workload)
        self._held.add(place)
        self._busy[cluster] = self._busy.get(cluster, 0) + 1
        return place, tries

    def _mark_done(self, place: Place, pace_s: float) -> None:
        self._held.discard(place)
        if place[1] in self._due.get(place[0], {}):
            self._paces[place] = min(2 * pace_s, PACE_S_MAX)
        else:
            self._paces.pop(place, None)
        self._news.set()

    def _add_when_due(self, place: Place, tries: int) -> None:
        del self._timers[place]
        self.add(place, tries)
