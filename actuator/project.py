"""The ledger shown in Kubernetes: Workload objects, queue statuses and Kubernetes Events.

Off the critical path: only what changed is written, each object once for many changes, and no more
a second than is allowed. What cannot be written is tried again a few times and then left until it
changes again: nothing depends on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import msgspec

from actuator.attention import Attention
from actuator.calls import Calls
from actuator.compare import Comparison, Place
from actuator.metrics import Metrics
from actuator.showing.board import Board
from actuator.showing.told import event_object, told
from actuator.write import Writer
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Object
from tidegate.service.backoff import delays
from tidegate.service.logs import get_log

TRIES_MAX = 8
EVENTS_WAITING_MAX = 16
"""Kubernetes Events that wait for one Workload to be written; older ones are dropped, counted."""
_GIVES_WAY_S = 1.0
_POLL_S = 0.02
_log = get_log("project")


class NoProjection:
    """Shows nothing; see ``actuator.consume.Learner``."""

    def learn(self, told: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """Take no notice."""

    def begin_anew(self) -> None:
        """Have nothing to forget."""

    def work(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """Do nothing either way."""

    async def run(self) -> None:
        """Have nothing to do."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How fast it may be shown."""

    writes_per_s: float = 50.0
    workers: int = 4


class Projector:
    """Learns from the ledger and writes what it shows; see ``actuator.consume.Learner``."""

    def __init__(self, calls: Calls, random: Random, metrics: Metrics, rate: Rate) -> None:
        self._calls, self._random, self._metrics = calls, random, metrics
        self._rate, self._pace = rate, _Pace(1 / rate.writes_per_s)
        self._board = Board()
        self._writer = Writer(calls, self._board)
        self._first = 0  # the first seq learnt; 0: none yet; above 1: EVENTS lost its beginning
        self._due = dict[Place, int]()  # to how often it was tried, in the order it came
        self._busy = set[Place]()
        self._events = dict[str, list[Object]]()  # by workload, until that was written
        self._working = False
        self._watched = False  # whatever is deleted from now on is noticed
        self._compared = False
        self._changed = asyncio.Event()
        self._busy_elsewhere: Callable[[], bool] = lambda: False
        metrics.showing.set_function(lambda: len(self._due))

    def learn(self, told: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Learner.learn``."""
        if not self._first:
            self._first, self._board.fills_in = told.seq, told.seq > 1
            self._compared = self._compared and told.seq == 1
        self._board.learn(event, f"{told.ledger_id}/{told.seq}")
        changed = self._board.take_changed()
        if live and self._working:
            self._due.update(dict.fromkeys(changed, 0))
            self._note_events(event, told.seq)
            self._changed.set()

    def begin_anew(self) -> None:
        """See ``Learner.begin_anew``."""
        self._board = Board()
        self._writer = Writer(self._calls, self._board)
        self._first = 0
        self._due.clear()
        self._events.clear()

    def work(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Learner.work``: nobody knows what the cluster shows, so all is compared first."""
        self._working, self._compared = working, False
        self._due.clear()
        self._events.clear()
        self._changed.set()

    def give_way(self, busy: Callable[[], bool]) -> None:
        """Hold writes back, though not for ever, while ``busy`` says that jobs are to be moved."""
        self._busy_elsewhere = busy

    async def run(self) -> None:
        """Write for ever."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._rate.workers):
                tasks.create_task(self._write())
            tasks.create_task(self._compare())
            tasks.create_task(self._attend())

    async def _attend(self) -> None:
        while not self._working:
            self._changed.clear()
            await self._changed.wait()
        await Attention(self._calls, self._random, begun=self._begun, deleted=self._put_back).pay()

    def _begun(self) -> None:
        self._watched, self._compared = True, False
        self._changed.set()

    def _put_back(self, key: str, uid: str) -> None:
        shown = self._board.workloads.get(key)
        if shown is None or shown.direct or shown.phase == "finished" or not self._working:
            return
        if uid == shown.object_uid:  # else it was a namesake of old
            self._due["Workload", key] = 0
            self._changed.set()

    async def _compare(self) -> None:
        waits = delays(self._random, first_s=0.5, most_s=30.0)
        while True:
            if self._working and self._watched and not self._compared:
                try:
                    await self._compare_all()
                except (ApiUnreachableError, ApiStatusError) as error:
                    _log.warning("cannot compare what is shown", error=str(error))
                    await asyncio.sleep(next(waits))
                    continue
                waits = delays(self._random, first_s=0.5, most_s=30.0)
            self._changed.clear()
            await self._changed.wait()

    async def _compare_all(self) -> None:
        """Find out what does not show what it shall; nothing is written before that is known."""
        look = Comparison(self._calls, self._board, self._writer)
        self._due.update(dict.fromkeys(await look.differing(), 0))
        self._compared = self._working
        self._changed.set()

    async def _write(self) -> None:
        waits = delays(self._random, first_s=0.5, most_s=10.0)
        while True:
            place = await self._next()
            await self._turn()
            try:
                await self._show(place)
                waits = delays(self._random, first_s=0.5, most_s=10.0)
            except (ApiUnreachableError, ApiStatusError) as error:
                if self._again(place, error):
                    await asyncio.sleep(next(waits))
            finally:
                self._busy.discard(place)
                self._changed.set()

    async def _next(self) -> Place:
        """Return what is to be written next and nobody writes now; it stays due until it is."""
        while True:
            free = next((place for place in self._due if place not in self._busy), None)
            if free is not None and self._working and self._compared:
                self._busy.add(free)
                return free
            self._changed.clear()
            await self._changed.wait()

    async def _turn(self) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + _GIVES_WAY_S
        while self._busy_elsewhere() and loop.time() < until_s:  # noqa: ASYNC110 - a bounded wait
            await asyncio.sleep(_POLL_S)
        await self._pace.turn()

    async def _show(self, place: Place) -> None:
        tries = self._due.pop(place, 0)
        kind, key = place
        try:
            match kind:
                case "Workload":
                    await self._writer.workload(key)
                    await self._tell(key)
                case "Shares":
                    self._board.mark_moved()
                    self._due.update(dict.fromkeys(self._board.take_changed(), 0))
                    return
                case _:
                    await self._writer.queue(kind, key)
        except (ApiUnreachableError, ApiStatusError):
            self._due.setdefault(place, tries + 1)
            raise
        self._metrics.projected.labels(kind, "written").inc()

    def _again(self, place: Place, error: ApiUnreachableError | ApiStatusError) -> bool:
        """Tell whether a write that failed is tried again; else it waits for the next change."""
        if self._due.get(place, 0) < TRIES_MAX:
            self._metrics.projected.labels(place[0], "tried again").inc()
            return True
        self._due.pop(place, None)
        self._events.pop(place[1], None)
        self._metrics.projected.labels(place[0], "given up").inc()
        _log.warning("cannot show", kind=place[0], name=place[1], error=str(error))
        return False

    def _note_events(self, event: FactEvent | DecisionEvent, seq: int) -> None:
        for one in told(event):
            about = one.workload or getattr(event, "workload", "")
            shown = self._board.workloads.get(about)
            if shown is not None:
                self._due.setdefault(("Workload", about), 0)
                self._note(about, event_object(one, shown, seq, event.at_us))

    def _note(self, key: str, found: Object) -> None:
        waiting = self._events.setdefault(key, [])
        waiting.append(found)
        dropped = max(len(waiting) - EVENTS_WAITING_MAX, 0)
        del waiting[:dropped]
        self._metrics.projected.labels("Event", "dropped").inc(dropped)

    async def _tell(self, key: str) -> None:
        shown = self._board.workloads.get(key)
        waiting = self._events.get(key, [])
        while waiting and shown is not None:
            found = waiting[0]
            if found["involvedObject"]["kind"] == "Workload":
                found["involvedObject"]["uid"] = shown.object_uid
            await self._turn()
            await self._writer.event(found)
            self._metrics.projected.labels("Event", "written").inc()
            waiting.remove(found)
        self._events.pop(key, None)


@dataclass(slots=True)
class _Pace:
    """Lets so many pass in a second."""

    every_s: float
    next_s: float = 0.0

    async def turn(self) -> None:
        now_s = asyncio.get_running_loop().time()
        at_s = max(self.next_s, now_s)
        self.next_s = at_s + self.every_s
        await asyncio.sleep(at_s - now_s)
