"""The workqueue: which workloads to reconcile, and at which worker cluster.

A cluster that is slow, or that reports its objects without end, takes no more than its share: so
many workloads at once, and none more often than each ``PACE_S``; one that changed again by then
rests twice as long the next time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

WIDTH = 8
"""Workloads that are reconciled concurrently at one cluster."""
PACE_S, PACE_S_MAX = 0.2, 5.0
"""Seconds between two reconciliations of a workload, however often its cluster reports it."""
Place = tuple[str, str]
"""A worker cluster and a workload, ``<namespace>/<name>``."""


class WorkQueue:
    """Places by cluster, in the order in which they came; no two tasks look at the same one."""

    def __init__(self) -> None:
        self._due = dict[str, OrderedDict[str, int]]()  # by cluster and workload: its tries so far
        self._open = dict[str, None]()  # clusters with a workload that is due, and room for it
        self._busy = dict[str, int]()  # by cluster: how many are looked at
        self._held = set[Place]()  # those that are looked at, or rest
        self._again = dict[Place, int]()  # tries of those that are held, and due after that
        self._paces = dict[Place, float]()  # of those that changed before their last rest was over
        self._timers = dict[Place, asyncio.TimerHandle]()
        self._news = asyncio.Event()

    def add(self, place: Place, tries: int = 0) -> None:
        """Queue a workload; a new reason resets its tries."""
        cluster, workload = place
        if place in self._held:
            self._again[place] = min(tries, self._again.get(place, tries))
            return
        due = self._due.setdefault(cluster, OrderedDict())
        due[workload] = min(tries, due.get(workload, tries))
        self._open_if_due(cluster)

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
        while not self._open:
            self._news.clear()
            await self._news.wait()
        return self._mark_processing(next(iter(self._open)))

    def finish(self, place: Place) -> None:
        """Release a workload: others may run at this cluster, and the same one after a pause."""
        cluster = place[0]
        self._busy[cluster] -= 1
        if not self._busy[cluster]:
            del self._busy[cluster]
        pace_s = self._paces.get(place, PACE_S)
        asyncio.get_running_loop().call_later(pace_s, self._mark_done, place, pace_s)
        self._open_if_due(cluster)

    def _open_if_due(self, cluster: str) -> None:
        if cluster in self._due and self._busy.get(cluster, 0) < WIDTH:
            self._open[cluster] = None
            self._news.set()

    def _mark_processing(self, cluster: str) -> tuple[Place, int]:
        due = self._due[cluster]
        workload, tries = due.popitem(last=False)
        place = cluster, workload
        self._held.add(place)
        self._busy[cluster] = self._busy.get(cluster, 0) + 1
        if not due:
            del self._due[cluster]
        if not due or self._busy[cluster] >= WIDTH:
            del self._open[cluster]
        return place, tries

    def _mark_done(self, place: Place, pace_s: float) -> None:
        self._held.discard(place)
        tries = self._again.pop(place, None)
        if tries is None:
            self._paces.pop(place, None)
            return
        self._paces[place] = min(2 * pace_s, PACE_S_MAX)
        self.add(place, tries)

    def _add_when_due(self, place: Place, tries: int) -> None:
        del self._timers[place]
        self.add(place, tries)
