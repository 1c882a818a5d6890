"""Submit Jobs, play what their controller would write, and note when what was done.

Workloads may come in their place: their author finishes them by a patch of their status.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bench.pipeline import objects
from bench.pipeline.stub import Stub, parse_path

Object = dict[str, Any]
RUN_S = 0.5
"""How long a Job's pod runs once its Workload is shown as Admitted: no write can be left out."""
UNDERWAY_MAX = 800
"""Jobs that are there and are not shown as finished, at saturation."""


@dataclass(slots=True)
class Course:
    """What became of one Job; UTC seconds, 0: not yet."""

    created_s: float
    observed_s: float = 0.0  # the bus stored its observation, see ``stages``
    ordered_s: float = 0.0  # the bus stored the order to start it
    started_s: float = 0.0  # the request that unsuspends it came
    admitted_s: float = 0.0  # its Workload says Admitted
    finished_s: float = 0.0  # its controller said that it is complete
    shown_s: float = 0.0  # its Workload says so too


@dataclass
class Player:
    """Jobs on a stub."""

    queues: int
    random: Random
    partitions: int = 1
    workloads: bool = False  # in place of Jobs
    stub: Stub = field(init=False)
    courses: dict[str, Course] = field(default_factory=dict)  # of the phase, by the Job's name
    _done: int = 0  # Jobs that are shown as finished
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Make the stub, and what the Jobs need."""
        self.stub = Stub(self._on_change)
        for path, obj in objects.definitions(self.queues, self.partitions):
            self.stub.put(path, obj)

    async def play(self, name: str, jobs: int, per_s: float) -> float:
        """Submit so many Jobs at a rate (0: as fast as they end); return the seconds it took."""
        self.courses, self._done = {}, 0
        make = objects.workload if self.workloads else objects.job
        path = objects.WORKLOADS if self.workloads else objects.JOBS
        began_s = time.perf_counter()
        async for number in self._due_numbers(jobs, per_s):
            self.courses[f"{name}-{number}"] = Course(time.time())
            self.stub.put(f"{path}/{name}-{number}", make(f"{name}-{number}", number % self.queues))
        while self._done < jobs:
            await self._wait_for_change()
        return time.perf_counter() - began_s

    async def _due_numbers(self, jobs: int, per_s: float) -> AsyncIterator[int]:
        """Yield each Job's number when it is due: random arrivals, or whenever few are left."""
        due_s = time.perf_counter()
        for number in range(jobs):
            if per_s:
                due_s += self.random.expovariate(per_s)
                await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            while not per_s and len(self.courses) - self._done >= UNDERWAY_MAX:
                await self._wait_for_change()
            yield number

    async def _wait_for_change(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    def _on_change(self, path: str, obj: Object) -> None:
        place = parse_path(path)
        match place.resource.rpartition("/")[2]:
            case "jobs":
                self._on_job_changed(path, place.name, obj)
            case "workloads":
                self._on_workload_changed(obj)
            case _:
                pass

    def _on_job_changed(self, path: str, name: str, job: Object) -> None:
        course = self.courses.get(name)
        if course is None or course.started_s or job["spec"]["suspend"]:
            return
        course.started_s = time.time()
        loop = asyncio.get_running_loop()
        loop.call_later(0.002, self._write_status, path, objects.running(0))
        loop.call_later(0.005, self._write_status, path, objects.running(1))

    def _write_status(self, path: str, status: Object) -> None:
        obj = self.stub.find(path)
        assert obj is not None, "no process deletes it"
        if "completionTime" in status:
            self.courses[obj["metadata"]["name"]].finished_s = time.time()
        self.stub.put(path, {**obj, "metadata": dict(obj["metadata"]), "status": status})

    def _on_workload_changed(self, workload: Object) -> None:
        meta = workload["metadata"]
        name = meta["name"] if self.workloads else meta["ownerReferences"][0]["name"]
        course, conditions = self.courses.get(name), _conditions(workload)
        if course is None:
            return
        if "Admitted" in conditions and not course.admitted_s:
            course.admitted_s = time.time()
            if self.workloads:
                course.started_s = course.admitted_s  # the same patch says both
                path = f"{objects.WORKLOADS}/{name}"
                asyncio.get_running_loop().call_later(RUN_S, self._finish_workload, path)
            else:
                self._schedule_end(f"{objects.JOBS}/{name}")
        if "Finished" in conditions and not course.shown_s:
            course.shown_s = time.time()
            self._done += 1
            self._moved.set()

    def _finish_workload(self, path: str) -> None:
        obj = self.stub.find(path)
        assert obj is not None, "no process deletes it"
        course = self.courses[obj["metadata"]["name"]]
        course.finished_s = course.shown_s = time.time()  # its author writes both
        self._write_status(path, objects.finished(obj["status"]))
        self._done += 1
        self._moved.set()

    def _schedule_end(self, path: str) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(RUN_S, self._write_status, path, objects.counted())
        loop.call_later(RUN_S + 0.002, self._write_status, path, objects.complete())


def _conditions(obj: Object) -> set[str]:
    conditions = obj.get("status", {}).get("conditions", [])
    return {condition["type"] for condition in conditions if condition["status"] == "True"}
