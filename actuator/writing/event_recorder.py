"""Kubernetes Events written beside everything else: in order, and not too many a second.

An Event about a Workload waits until the Workload was written, for it names that object's uid.
A full queue drops the oldest and counts them: nothing depends on an Event. Only a refusal is
nowhere else on its object, so a process that becomes active repeats the latest, in case no process
did.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from random import Random
from typing import TypeAlias

from actuator.calls import is_temporary
from actuator.metrics import Metrics
from actuator.projection.k8s_events import event_about, refused_status_text, workload_reference
from actuator.projection.read_model import ReadModel
from actuator.projection.stray_events import refusal_event
from actuator.workqueue import Pace, Place
from actuator.writing.write import Writer
from tidegate.contracts.decisions import DecisionEvent, WorkloadEvicted
from tidegate.contracts.fact_kinds.reception import ObservationRefused
from tidegate.contracts.fact_kinds.strays import StrayReported
from tidegate.contracts.facts import FactEvent
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Object
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

WAITING_MAX = 16
"""Events that wait for one Workload to be written."""
READY_MAX = 2_000
"""Events that wait for their turn."""
REFUSED_MAX = 500
"""Refusals that a successor repeats."""
LASTS_US = 3_600_000_000
"""How long an API server keeps an Event by default: what is older is no news."""
TRIES_MAX = 5
MakesEvent: TypeAlias = Callable[[], Object]
_log = get_log("tell")


class EventRecorder:
    """Queues Kubernetes Events and creates them."""

    def __init__(self, metrics: Metrics, random: Random, pace: Pace) -> None:
        self._metrics, self._random, self._pace = metrics, random, pace
        self._waiting = dict[str, list[MakesEvent]]()  # by workload, until that was written
        self._shows = dict[str, tuple[WorkloadEvicted, int]]()  # by workload: what, and its seq
        self._ready = deque[Object](maxlen=READY_MAX)
        self._refused = deque[tuple[int, Object]](maxlen=REFUSED_MAX)  # when, and its Event
        self._now_us = 0  # when the newest entry was made
        self._came = asyncio.Event()

    def queue_for_workload(self, key: str, make_event: MakesEvent) -> None:
        """Queue an Event until the Workload ``key`` was written.

        It is made then: thousands may wait, and one takes 2 kB.
        """
        waiting = self._waiting.setdefault(key, [])
        if len(waiting) == WAITING_MAX:
            del waiting[0]
            self._count_dropped(1)
        waiting.append(make_event)

    def record_refused_status(self, place: Place, read_model: ReadModel, error: Exception) -> None:
        """Tell, once, that the API server refused the status which shows an eviction."""
        kind, key = place
        if kind != "Workload":  # a LocalQueue may have the same key
            return
        view, (event, seq) = read_model.workloads.get(key), self._shows.get(key, (None, 0))
        if view is None or event is None or not isinstance(error, ApiStatusError):
            return
        text = refused_status_text(event, error.status)
        if text is not None:
            del self._shows[view.key]
            self.record(event_about(workload_reference(view), f"{seq:x}.r", event.at_us, text))

    def release_events_of(self, key: str, uid: str) -> None:
        """Release the Events that wait for a Workload; ``uid`` is the Workload object's."""
        self._shows.pop(key, None)
        for event in (make_event() for make_event in self._waiting.pop(key, ())):
            if event["involvedObject"]["kind"] == "Workload":
                event["involvedObject"]["uid"] = uid
            self.record(event)

    def record(self, event: Object) -> None:
        """Queue an Event without a condition."""
        self._count_dropped(len(self._ready) == READY_MAX)
        self._ready.append(event)
        self._came.set()

    def apply_event(self, event: FactEvent | DecisionEvent, seq: int, *, now: bool) -> None:
        """Create an Event on a refused job, ``now`` or as soon as this process is active."""
        self._now_us = event.at_us
        if now and isinstance(event, WorkloadEvicted):
            self._shows[event.workload] = event, seq
        k8s_event = None
        if isinstance(event, ObservationRefused | StrayReported):
            k8s_event = refusal_event(event, seq)
        if k8s_event is not None:
            self._refused.append((event.at_us, k8s_event))
            if now:
                self.record(k8s_event)

    def repeat_refusals(self) -> None:
        """Repeat recent refusals; an existing Event stays as it is."""
        for at_us, event in self._refused:
            if at_us > self._now_us - LASTS_US:
                self.record(event)

    def forget_refusals(self) -> None:
        """Forget what was refused: it is of another ledger."""
        self._refused.clear()

    def drop_events_of(self, place: Place) -> None:
        """Forget what waits for an object that cannot be written: of Workloads alone anything."""
        kind, key = place
        if kind != "Workload":
            return
        self._shows.pop(key, None)
        self._count_dropped(len(self._waiting.pop(key, ())))

    def clear(self) -> None:
        """Forget everything."""
        self._waiting.clear()
        self._shows.clear()
        self._ready.clear()

    async def run(self, writer: Callable[[], Writer]) -> None:
        """Create queued Events for ever, each with the writer of that moment."""
        while True:
            while not self._ready:
                self._came.clear()
                await self._came.wait()
            await self._pace.wait_for_rate()
            if self._ready:
                since_s = asyncio.get_running_loop().time()
                event = self._ready.popleft()
                try:
                    await self._create(writer(), event)
                except Exception:  # noqa: BLE001 - of one object: the others go on
                    _log.exception("event not created", reason=event["reason"])
                await self._pace.pause_after(asyncio.get_running_loop().time() - since_s)

    async def _create(self, writer: Writer, event: Object) -> None:
        waits = backoff_delays(self._random, first_s=0.2, most_s=5.0)
        for _ in range(TRIES_MAX):
            try:
                await writer.create_event(event)
            except ApiUnreachableError:
                await asyncio.sleep(next(waits))
            except ApiStatusError as error:
                if not is_temporary(error):
                    _log.warning("cannot create an event", reason=event["reason"], error=str(error))
                    break
                await asyncio.sleep(next(waits))
            else:
                self._metrics.projected.labels("Event", "written").inc()
                return
        self._count_dropped(1)

    def _count_dropped(self, count: int) -> None:
        if count:
            self._metrics.projected.labels("Event", "dropped").inc(count)
