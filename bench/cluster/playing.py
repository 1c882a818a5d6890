"""Submit a load as time passes, and finish each Workload when its run time is over.

This process alone decides when a Workload has run. It runs from when its condition Admitted is
True, loses its run when the condition is taken back, and is finished by a condition, as the
controller that owns its pods would do. Jobs run and finish by themselves.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import msgspec

from bench.cluster.objects import JOBS, WORKLOADS
from bench.cluster.sending import CLIENTS, condition, send
from bench.virtual.loads import QUOTA_CPU, Arrival, Load
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

SAMPLE_S = 0.2
TICK_S = 0.005


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of a condition."""

    type: str
    status: str


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of a Workload's status or a Job's."""

    conditions: tuple[msgspec.Raw, ...] = ()


class Spec(msgspec.Struct, frozen=True):
    """What is read of a Job's spec."""

    suspend: bool = False


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of an object's metadata."""

    name: str = ""
    resource_version: str = ""


class Item(msgspec.Struct, frozen=True):
    """What is read of a Workload or a Job."""

    metadata: Meta = Meta()
    spec: Spec = Spec()
    status: Status = Status()


class Change(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: Item


class Listing(msgspec.Struct, frozen=True):
    """What is read of a list."""

    metadata: Meta


@dataclass
class Course:
    """What became of one workload; seconds of the run's own clock, -1: not yet."""

    arrival: Arrival
    created_s: float = -1.0  # when the API server had taken it
    admitted_s: float = -1.0  # for the first time
    running_s: float = -1.0  # since when it runs now
    finished_s: float = -1.0
    conditions: tuple[msgspec.Raw, ...] = ()
    held: frozenset[str] = frozenset()  # conditions that are true
    version: str = ""


@dataclass
class Play:
    """One load on one cluster."""

    api: KubernetesApi
    load: Load
    make: Callable[[Arrival], bytes]
    jobs: bool = False  # that is what it makes
    external: bool = False
    courses: dict[str, Course] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)  # of all quota, while work was pending
    late_s: float = 0.0  # by how much this process fell behind the arrivals at worst
    evictions: int = 0
    finished: int = 0
    released: int = 0  # reservations that this process took off
    _admitted_cpu: int = 0
    _pending: int = 0
    _began_s: float = 0.0
    _ends: list[tuple[float, str, float]] = field(default_factory=list)
    _finishing: asyncio.Queue[Course] = field(default_factory=asyncio.Queue)

    @property
    def now_s(self) -> float:
        """Return the seconds since the run began."""
        return time.perf_counter() - self._began_s

    async def run(self, tell: Callable[[str], None]) -> float:
        """Play everything; return the seconds until the last workload was finished."""
        path = JOBS if self.jobs else WORKLOADS
        since = await self._newest_version(path)
        self._began_s = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            helpers = [
                tasks.create_task(self._watch(path, since)),
                tasks.create_task(self._sample(tell)),
                *(tasks.create_task(coroutine) for coroutine in self._helper_coroutines()),
            ]
            await self.submit(path)
            while self.finished < self.load.count:
                await asyncio.sleep(TICK_S)
            ended_s = self.now_s
            for helper in helpers:
                helper.cancel()
        return ended_s

    def _helper_coroutines(self) -> Iterable[Coroutine[Any, Any, None]]:
        """Return what runs beside the submissions until all is over."""
        return self._enqueue_ended_runs(), *(self._finish_workloads() for _ in range(CLIENTS))

    async def _newest_version(self, path: str) -> str:
        listed = await send(self.api, "GET", path)
        return msgspec.json.decode(listed, type=Listing).metadata.resource_version

    async def submit(self, path: str) -> None:
        """Create everything when it is due, a few at once."""
        room = asyncio.Semaphore(CLIENTS)
        async with asyncio.TaskGroup() as tasks:
            for arrival in self.load.arrivals(staggered=False):
                while self.now_s < arrival.at_us / 1e6:
                    await asyncio.sleep(TICK_S)
                await room.acquire()
                self.late_s = max(self.late_s, self.now_s - arrival.at_us / 1e6)
                self.courses[arrival.name] = course = Course(arrival)
                tasks.create_task(self._create_within(room, path, course))

    async def _create_within(self, room: asyncio.Semaphore, path: str, course: Course) -> None:
        try:
            await self._create(path, course)
        finally:
            room.release()

    async def _create(self, path: str, course: Course) -> None:
        await send(self.api, "POST", path, self.make(course.arrival))
        course.created_s = self.now_s
        self._pending += 1

    async def _watch(self, path: str, since: str) -> None:
        """Follow the objects; a watch that ends goes on where it was."""
        decoder = msgspec.json.Decoder(Change)
        while True:
            query = {"resourceVersion": since, "timeoutSeconds": "3600"}
            async with self.api.watch(path, query) as lines:
                async for line in lines:
                    change = decoder.decode(line)
                    since = change.object.metadata.resource_version or since
                    if change.type in {"ADDED", "MODIFIED"}:
                        self.on_change(change.object)

    def on_change(self, obj: Item) -> None:
        """Take in an object as the API server shows it."""
        course = self.courses[obj.metadata.name]
        course.conditions, course.version = obj.status.conditions, obj.metadata.resource_version
        course.held = conditions = frozenset(_true_conditions(obj.status.conditions))
        running = not obj.spec.suspend if self.jobs else {"Admitted", "QuotaReserved"} <= conditions
        if conditions & {"Finished", "Complete"}:
            self._on_finished(course)
        elif running and course.running_s < 0:
            self._on_started(course)
        elif course.running_s >= 0 and (not running or "Evicted" in conditions):
            self._on_stopped(course)

    def _on_started(self, course: Course) -> None:
        course.running_s = self.now_s
        if course.admitted_s < 0:
            course.admitted_s = course.running_s
        self._admitted_cpu += course.arrival.cpu
        self._pending -= 1
        if not self.jobs:
            due_s = course.running_s + course.arrival.run_us / 1e6
            heappush(self._ends, (due_s, course.arrival.name, course.running_s))

    def _on_stopped(self, course: Course) -> None:
        course.running_s = -1.0
        self._admitted_cpu -= course.arrival.cpu
        self._pending += 1
        self.evictions += 1

    def _on_finished(self, course: Course) -> None:
        if course.finished_s >= 0:
            return
        course.finished_s = self.now_s
        self.finished += 1
        if course.running_s >= 0:
            self._admitted_cpu -= course.arrival.cpu
        else:
            self._pending -= 1

    async def _enqueue_ended_runs(self) -> None:
        while True:
            while self._ends and self._ends[0][0] <= self.now_s:
                _, name, running_s = heappop(self._ends)
                course = self.courses[name]
                if course.running_s == running_s:
                    self._finishing.put_nowait(course)
            await asyncio.sleep(TICK_S)

    async def _finish_workloads(self) -> None:
        while True:
            course = await self._finishing.get()
            running_s, version = course.running_s, course.version
            while course.running_s == running_s and not await self._try_finish(course):
                while course.version == version:  # else each try is one more conflict
                    await asyncio.sleep(TICK_S)
                version = course.version

    async def _try_finish(self, course: Course) -> bool:
        """Say that a Workload is done, unless it has changed since it was seen."""
        messages = [
            *_conditions_except("Finished", course.conditions),
            condition("Finished", "Succeeded"),
        ]
        body = {
            "metadata": {"resourceVersion": course.version},
            "status": {"conditions": messages},
        }
        path = f"{WORKLOADS}/{course.arrival.name}/status"
        answer = await self.api.request(
            "PATCH", path, body=msgspec.json.encode(body), content_type=MERGE_PATCH
        )
        assert answer.status in {200, 409}, f"{path}: {answer.status} {answer.body!r}"
        return answer.status == 200  # noqa: PLR2004 - OK

    async def _sample(self, tell: Callable[[str], None]) -> None:
        quota, printed_s = self.load.queues * QUOTA_CPU, 0.0
        while True:
            await asyncio.sleep(SAMPLE_S)
            if self._pending > 0:
                self.shares.append(self._admitted_cpu / quota)
            if self.now_s - printed_s > 5:  # noqa: PLR2004 - seconds
                printed_s = self.now_s
                tell(f"{self.finished} of {self.load.count} after {printed_s:.0f} s")


def _true_conditions(conditions: Iterable[msgspec.Raw]) -> Iterable[str]:
    read = (msgspec.json.decode(raw, type=Condition) for raw in conditions)
    return (typed.type for typed in read if typed.status == "True")


def _conditions_except(kind: str, conditions: Iterable[msgspec.Raw]) -> list[msgspec.Raw]:
    return [raw for raw in conditions if msgspec.json.decode(raw, type=Condition).type != kind]
