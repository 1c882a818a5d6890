"""Kubernetes Events written beside everything else: in order, and not too many a second.

What is told of a Workload waits until the Workload was written, for it is told of that very object.
Who falls behind drops the oldest and counts them: nothing depends on an Event. Only a refusal
stands nowhere else on its object, so who becomes the active one tells the latest, in case nobody
did.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from random import Random

from actuator.calls import passing
from actuator.metrics import Metrics
from actuator.pace import Pace
from actuator.projection.k8s_events import event_about, unwritten, workload_of
from actuator.projection.refusals import refusal
from actuator.projection.workload_view import WorkloadView
from actuator.writing.write import Writer
from tidegate.contracts.decisions import DecisionEvent, WorkloadEvicted
from tidegate.contracts.fact_kinds.reception import ObservationRefused
from tidegate.contracts.fact_kinds.strays import StrayReported
from tidegate.contracts.facts import FactEvent
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Object
from tidegate.service.backoff import delays
from tidegate.service.logs import get_log

WAITING_MAX = 16
"""Events that wait for one Workload to be written."""
READY_MAX = 2_000
"""Events that wait for their turn."""
REFUSED_MAX = 500
"""Refusals that a successor tells again."""
LASTS_US = 3_600_000_000
"""How long an API server keeps an Event by default: what is older is no news."""
TRIES_MAX = 5
_log = get_log("tell")


class EventRecorder:
    """Holds what is to be told, and tells it."""

    def __init__(self, metrics: Metrics, random: Random, pace: Pace) -> None:
        self._metrics, self._random, self._pace = metrics, random, pace
        self._waiting = dict[str, deque[Object]]()  # by workload, until that was written
        self._shows = dict[str, tuple[WorkloadEvicted, int]]()  # by workload: what, and its seq
        self._ready = deque[Object](maxlen=READY_MAX)
        self._refused = deque[tuple[int, Object]](maxlen=REFUSED_MAX)  # when, and its Event
        self._now_us = 0  # when the newest entry was made
        self._came = asyncio.Event()

    def note(self, key: str, found: Object) -> None:
        """Take an Event that is told once the Workload ``key`` was written."""
        waiting = self._waiting.setdefault(key, deque(maxlen=WAITING_MAX))
        self._count_dropped(len(waiting) == WAITING_MAX)
        waiting.append(found)

    def refused(self, shown: WorkloadView | None, error: Exception) -> None:
        """Tell, once, that the API server refused the status which shows an eviction."""
        event, seq = self._shows.get("" if shown is None else shown.key, (None, 0))
        if shown is None or event is None or not isinstance(error, ApiStatusError):
            return
        told = unwritten(event, error.status)
        if told is not None:
            del self._shows[shown.key]
            self.say(event_about(workload_of(shown), f"{seq:x}.r", event.at_us, told))

    def release(self, key: str, uid: str) -> None:
        """Let what waits for a Workload be told; ``uid`` is the Workload object's."""
        self._shows.pop(key, None)
        for found in self._waiting.pop(key, ()):
            if found["involvedObject"]["kind"] == "Workload":
                found["involvedObject"]["uid"] = uid
            self.say(found)

    def say(self, found: Object) -> None:
        """Tell an Event that waits for nothing."""
        self._count_dropped(len(self._ready) == READY_MAX)
        self._ready.append(found)
        self._came.set()

    def learn(self, event: FactEvent | DecisionEvent, seq: int, *, now: bool) -> None:
        """Tell on a job why it was refused, ``now`` or as soon as this is the active one."""
        self._now_us = event.at_us
        if now and isinstance(event, WorkloadEvicted):
            self._shows[event.workload] = event, seq
        found = None
        if isinstance(event, ObservationRefused | StrayReported):
            found = refusal(event, seq)
        if found is not None:
            self._refused.append((event.at_us, found))
            if now:
                self.say(found)

    def say_refused(self) -> None:
        """Tell what was refused lately; an Event that somebody made before stays as it is."""
        for at_us, found in self._refused:
            if at_us > self._now_us - LASTS_US:
                self.say(found)

    def forget(self) -> None:
        """Forget what was refused: it is of another ledger."""
        self._refused.clear()

    def drop(self, key: str) -> None:
        """Forget what waits for a Workload that cannot be written."""
        self._shows.pop(key, None)
        self._count_dropped(len(self._waiting.pop(key, ())))

    def clear(self) -> None:
        """Forget everything."""
        self._waiting.clear()
        self._shows.clear()
        self._ready.clear()

    async def run(self, writer: Callable[[], Writer]) -> None:
        """Tell for ever, each with the writer of that moment."""
        while True:
            while not self._ready:
                self._came.clear()
                await self._came.wait()
            await self._pace.turn()
            if self._ready:
                since_s = asyncio.get_running_loop().time()
                found = self._ready.popleft()
                try:
                    await self._tell(writer(), found)
                except Exception:  # noqa: BLE001 - of one object: the others go on
                    _log.exception("not told", reason=found["reason"])
                await self._pace.rest(asyncio.get_running_loop().time() - since_s)

    async def _tell(self, writer: Writer, found: Object) -> None:
        waits = delays(self._random, first_s=0.2, most_s=5.0)
        for _ in range(TRIES_MAX):
            try:
                await writer.event(found)
            except ApiUnreachableError:
                await asyncio.sleep(next(waits))
            except ApiStatusError as error:
                if not passing(error):
                    _log.warning("cannot tell", reason=found["reason"], error=str(error))
                    break
                await asyncio.sleep(next(waits))
            else:
                self._metrics.projected.labels("Event", "written").inc()
                return
        self._count_dropped(1)

    def _count_dropped(self, count: int) -> None:
        if count:
            self._metrics.projected.labels("Event", "dropped").inc(count)
