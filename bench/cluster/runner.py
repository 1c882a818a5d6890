"""The load as Kueue's own performance runner plays it, for any controller of its API.

Each queue and size has a creator of its own, and all of them create at once: the next Workload
comes when its interval is over, and the API server has taken the one before. The player takes the
reservation off an evicted Workload: it stands for the controller that stopped the pods.

Source: Kueue's test/performance/scheduler, ``generator`` and ``runner/controller``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from bench.cluster.objects import WORKLOADS
from bench.cluster.playing import TICK_S, Condition, Course, Item, Play
from bench.cluster.sending import CLIENTS
from bench.virtual.loads import Arrival
from tidegate.kube.ports import MERGE_PATCH

RESERVED, ADMITTED = "QuotaReserved", "Admitted"
EVICTED = frozenset({"Evicted", RESERVED})
"""A Workload with both is to be stopped, unless quota was reserved for it again since then."""
SAID = {RESERVED: "Pending", ADMITTED: "NoReservation"}
"""Which conditions are false without a reservation, each with its reason."""


@dataclass
class RunnerPlay(Play):
    """One load, played as Kueue's runner plays it."""

    _releasing: asyncio.Queue[Course] = field(default_factory=asyncio.Queue)

    async def submit(self, path: str) -> None:
        """Create everything, each queue's Workloads of one size one after another."""
        rows = defaultdict[tuple[int, str], list[Arrival]](list)
        for arrival in self.load.arrivals(staggered=False):
            rows[arrival.queue, arrival.name.partition("-")[0]].append(arrival)
        async with asyncio.TaskGroup() as tasks:
            for row in rows.values():
                tasks.create_task(self._create_all(path, row))

    def _helper_coroutines(self) -> Iterable[Coroutine[Any, Any, None]]:
        return *super()._helper_coroutines(), *(self._release_forever() for _ in range(CLIENTS))

    async def _create_all(self, path: str, row: list[Arrival]) -> None:
        """Create one queue's Workloads of one size, one after another."""
        due_s = 0.0
        for arrival, before in zip(row, [None, *row], strict=False):
            waited_us = 0 if before is None else arrival.at_us - before.at_us
            due_s = max(due_s + waited_us / 1e6, self.now_s)  # a ticker does not catch up
            while self.now_s < due_s:
                await asyncio.sleep(max(due_s - self.now_s, TICK_S))
            self.late_s = max(self.late_s, self.now_s - arrival.at_us / 1e6)
            self.courses[arrival.name] = course = Course(arrival)
            await self._create(path, course)

    def on_change(self, obj: Item) -> None:
        """Take in a Workload as the API server shows it."""
        super().on_change(obj)
        course = self.courses[obj.metadata.name]
        if course.held >= EVICTED and "Finished" not in course.held:
            self._releasing.put_nowait(course)

    async def release_next(self) -> None:
        """Wait for an eviction, and take the reservation off."""
        course = await self._releasing.get()
        while course.held >= EVICTED and course.finished_s < 0:
            version = course.version
            if await self._try_release(course):
                break
            while course.version == version:  # else each try is one more conflict
                await asyncio.sleep(TICK_S)

    async def _release_forever(self) -> None:
        while True:
            await self.release_next()

    async def _try_release(self, course: Course) -> bool:
        """Take the reservation off, unless the Workload has changed since it was seen."""
        body = {
            "metadata": {"resourceVersion": course.version},
            "status": {"admission": None, "conditions": without_reservation(course.conditions)},
        }
        path = f"{WORKLOADS}/{course.arrival.name}/status"
        answer = await self.api.request(
            "PATCH", path, body=msgspec.json.encode(body), content_type=MERGE_PATCH
        )
        assert answer.status in {200, 409}, f"{path}: {answer.status} {answer.body!r}"
        self.released += answer.status == 200  # noqa: PLR2004 - OK
        return answer.status == 200  # noqa: PLR2004 - OK


def without_reservation(conditions: tuple[msgspec.Raw, ...]) -> list[Any]:
    """Return a Workload's conditions without a reservation; those that are others stay."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    named = {
        msgspec.json.decode(condition, type=Condition).type: condition for condition in conditions
    }
    false = {
        kind: {
            "type": kind,
            "status": "False",
            "reason": reason,
            "message": "the player stopped it",
            "lastTransitionTime": now,
        }
        for kind, reason in SAID.items()
        if kind in named
    }
    return [false.get(kind, raw) for kind, raw in named.items()]
