"""The queue of objects to write: urgent ones first, the rest in order, all within a rate.

Three lanes. *Now*: a Workload that got or lost its quota, or ended: others act on that.
*Queues*: statuses of queues and cohorts. *Soon*: every other Workload. Each object stands in one
lane at most, however often it changes, so that a busy actuator writes many changes at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from actuator.projection.workload_view import WorkloadView
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    WorkloadDeactivated,
    WorkloadEvicted,
)
from tidegate.contracts.facts import FactEvent, WorkloadFinished

GIVES_WAY_S = 1.0
"""How long a write is held back while jobs are to be moved."""
RESTS = 3.0
"""The pause after a write, as a multiple of its duration: a slow API server is left to others."""
REST_S_MAX = 5.0
Place: TypeAlias = tuple[str, str]
"""A kind (Workload, ClusterQueue, Cohort, LocalQueue) and a key on the board."""
NOW = (QuotaReserved, WorkloadEvicted, QuotaReleased, WorkloadDeactivated)
"""What a Workload's own controller, or a check's, waits to see."""
QUEUES_EVERY_S = 1.0
"""How often the status of a queue is written at most, as Kueue does it: each write is one of many
that the same workload causes, and counts of workloads are old when they are read."""


class Waiters:
    """Tasks that wait, the one that waits longest first."""

    def __init__(self) -> None:
        self._futures = deque[asyncio.Future[None]]()

    def __len__(self) -> int:
        """Return how many tasks wait."""
        return len(self._futures)

    async def wait(self) -> None:
        """Wait until this task is woken."""
        future = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        try:
            await future
        except asyncio.CancelledError:
            with suppress(ValueError):  # it was woken at the same time
                self._futures.remove(future)
            raise

    def wake(self) -> None:
        """Wake one task; one that was cancelled meanwhile does not count."""
        while self._futures:
            future = self._futures.popleft()
            if not future.done():
                future.set_result(None)
                return

    def wake_all(self) -> None:
        """Wake every task that waits."""
        while self._futures:
            self.wake()


class YieldsTo(Protocol):
    """Waits while jobs are to be moved."""

    def __call__(self, *, urgent: bool) -> Awaitable[None] | None:
        """Return what to await before a write may pass; None: it may pass at once.

        Some ``urgent`` writes pass while jobs are to be moved.
        """


def no_priority(*, urgent: bool) -> None:
    """See ``YieldsTo``: no other writes have priority, so return at once."""
    del urgent


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How fast statuses may be written."""

    writes_per_s: float = 50.0  # without urgency
    workers: int = 4  # for these
    urgent: int = 4  # workers for urgent writes; more of them delay starts


@dataclass(slots=True)
class Pace:
    """Lets one request pass every ``every_s`` seconds; after a pause at once."""

    every_s: float
    next_s: float = 0.0

    async def wait_for_rate(self) -> None:
        """Wait until the rate allows the next request."""
        now_s = asyncio.get_running_loop().time()
        at_s = max(self.next_s, now_s)
        self.next_s = at_s + self.every_s
        if at_s > now_s:
            await asyncio.sleep(at_s - now_s)

    async def wait_behind(self, others: YieldsTo, *, urgent: bool) -> None:
        """Wait for writes of higher priority, within a limit, and then for the rate."""
        waiting = others(urgent=urgent)
        if waiting is not None:  # a clock costs as much as the rest
            with suppress(TimeoutError):
                async with asyncio.timeout(GIVES_WAY_S):
                    await waiting
        await self.wait_for_rate()

    async def pause_after(self, took_s: float) -> None:
        """Pause for ``RESTS`` times ``took_s``, at most ``REST_S_MAX`` seconds."""
        await asyncio.sleep(min(RESTS * took_s, REST_S_MAX))


class Lane(IntEnum):
    """Where a place stands."""

    NOW = 0
    QUEUES = 1
    SOON = 2


class Due(NamedTuple):
    """A place that is to be written, and how often that failed."""

    place: Place
    urgent: bool
    tries: int


class Workqueue:
    """The objects that are out of date; one writer each."""

    def __init__(self) -> None:
        self._lanes = tuple(dict[Place, int]() for _ in Lane)  # to tries, in the order they came
        self._busy = set[Place]()
        self._waiting = {True: Waiters(), False: Waiters()}  # workers, by whether of urgent places
        self._queues_last = False  # queues and Workloads take turns

    def __len__(self) -> int:
        """Return how many places are to be written."""
        return sum(map(len, self._lanes))

    def add(self, place: Place, *, now: bool = False, tries: int = 0) -> None:
        """Add an object to be written; a queued one keeps its place unless it becomes urgent."""
        lane = Lane.NOW if now else _normal_lane(place)
        if not now and place in self._lanes[Lane.NOW]:
            return
        if now:
            self._lanes[_normal_lane(place)].pop(place, None)
        self._lanes[lane].setdefault(place, tries)
        if place not in self._busy:
            self._waiting[now].wake()

    async def wait(self, *, urgent: bool) -> None:
        """Wait until there may be something to take: each place wakes one worker, not all."""
        await self._waiting[urgent].wait()

    def wake(self) -> None:
        """Let every worker look again: what kept them from working has changed."""
        for waiting in self._waiting.values():
            waiting.wake_all()

    def clear(self) -> None:
        """Forget everything but the writes in progress."""
        for lane in self._lanes:
            lane.clear()

    def pop_urgent(self) -> Due | None:
        """Return the urgent place that came first, for the caller alone to write; None: none is."""
        return self._pop(Lane.NOW)

    def pop_normal(self) -> Due | None:
        """Return the next place that is not urgent, of queues and of Workloads by turns."""
        self._queues_last = not self._queues_last
        first, then = (Lane.SOON, Lane.QUEUES) if self._queues_last else (Lane.QUEUES, Lane.SOON)
        return self._pop(first) or self._pop(then)

    def finish(self, place: Place) -> None:
        """Say that a place is not being written any more; what came meanwhile can be taken."""
        self._busy.discard(place)
        if place in self._lanes[Lane.NOW]:
            self._waiting[True].wake()
        elif place in self._lanes[_normal_lane(place)]:
            self._waiting[False].wake()

    def finish_written(self, place: Place) -> None:
        """Finish a place that was written: one of a queue is not taken again for a while."""
        if _normal_lane(place) is Lane.QUEUES:
            asyncio.get_running_loop().call_later(QUEUES_EVERY_S, self.finish, place)
        else:
            self.finish(place)

    def _pop(self, lane: Lane) -> Due | None:
        queued = self._lanes[lane]
        place = next((candidate for candidate in queued if candidate not in self._busy), None)
        if place is None:
            return None
        self._busy.add(place)
        return Due(place, lane is Lane.NOW, queued.pop(place))


def is_urgent(event: FactEvent | DecisionEvent, view: WorkloadView | None) -> bool:
    """Return whether others wait to see what an event did to a Workload, as a job's end.

    The end of one that was made directly is written by its user.
    """
    ends = isinstance(event, WorkloadFinished) and view is not None and not view.direct
    return ends or isinstance(event, NOW)


def _normal_lane(place: Place) -> Lane:
    return Lane.SOON if place[0] == "Workload" else Lane.QUEUES
