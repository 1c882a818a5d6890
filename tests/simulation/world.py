"""One world by one seed: services that die, a bus that loses, people who meddle, then calm.

A storm is a stretch in which anything may fail; between storms everything works, and what was
broken must mend in time. After the last storm the world must come to rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, Protocol

from msgspec.structs import replace

from tests.simulation import processes
from tests.simulation.actors.checker import Checker
from tests.simulation.actors.crowds import Crowds
from tests.simulation.actors.editors import Editors
from tests.simulation.actors.foresters import Foresters
from tests.simulation.actors.growers import Growers, grows
from tests.simulation.actors.makers import Makers, makes
from tests.simulation.actors.owners import Owners
from tests.simulation.actors.people import People
from tests.simulation.actors.removers import Removers
from tests.simulation.actors.switchers import Switchers
from tests.simulation.actors.triers import GATES, Triers, tries
from tests.simulation.bus import Bus
from tests.simulation.cluster import Cluster
from tests.simulation.faults.api_port import RELIST_S
from tests.simulation.faults.disasters import Disasters, strikes
from tests.simulation.faults.life import Life
from tests.simulation.faults.outages import RELIST_S as OFTEN_S
from tests.simulation.faults.outages import Outages, ails
from tests.simulation.faults.stalls import Stalls, stalls
from tests.simulation.faults.storms import Storms
from tests.simulation.faults.weather import Weather
from tests.simulation.judging.differences import Differences
from tests.simulation.judging.ledger_watch import LedgerWatch, WatchedLedger
from tests.simulation.judging.needless import SETTLED_S, Needless
from tests.simulation.judging.observer import Observer
from tests.simulation.judging.rest import Rest, unrest
from tests.simulation.judging.verdict import insist
from tests.simulation.ledgers import LedgerBackup, Ledgers
from tidegate.contracts.decisions import StartOrdered, StopOrdered
from tidegate.contracts.entry import Published
from tidegate.errors import TidegateError

JOBS_MAX = 9
HANDED_OVER, CUT_OFF = 0.3, 0.1
"""How likely it is at each order in calm that another actuator takes over, and in a storm."""


class Settling(Protocol):
    """An actor of the world until the last storm."""

    def settle(self) -> None:
        """Begin nothing more, and put right what keeps Jobs waiting."""


class World:
    """Everything there is; made inside a running loop."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.weather = Weather()
        self.bus = Bus(observations_max=150)
        self.cluster = Cluster(self.bus.true_us, Random(self.random.random()))
        self._kept = Ledgers(self.bus.now_us, self.bus.taken)
        self.ledgers = self._kept.all
        self.lives = dict[str, Life]()
        self.seen = list[Published]()
        self.calm_since_s = 0.0
        self.deaths = 0
        self._names = 0
        self._handovers = Random(f"handovers {seed}")
        self.observer = Observer(self.cluster, self.watch)
        self.begin_ledger()
        self.differences = Differences(self.cluster, self.watch, self.observer.running)
        self.needless = Needless(lambda: self.ledger, self.observer.touched_s)
        state, running = self.cluster.api.registry.state, self.observer.running
        self.rest = Rest(state, running, self.bus.true_us)
        self.people = People(self.cluster, Random(self.random.random()), JOBS_MAX)
        self.people.begin(seed)
        lossy = strikes(seed) or stalls(seed)
        self.storms = Storms(self, Random(self.random.random()), lossy=lossy)
        self.disasters, self.outages = Disasters(self, seed), Outages(self, seed)
        self.stalls = Stalls(self, seed)
        self.owners = Owners(self.cluster, Random(self.random.random()))
        self.checker = Checker(self.cluster, Random(self.random.random()))
        self.makers = Makers(self.cluster, seed)
        self.growers, self._grows = Growers(self.cluster, seed), grows(seed)
        self.triers = Triers(self.cluster, seed)
        self.editors = Editors(self.cluster, seed, self.watch)
        self.foresters, self.crowds = Foresters(self.cluster, seed), Crowds(self.cluster, seed)
        self.removers = Removers(self.cluster, self.weather, seed)
        self.switchers = Switchers(self.weather, seed, self._restart_ingest)
        self._policy = replace(self.owners.policy, gates=GATES if tries(seed) else {})
        self._relist_s = OFTEN_S if ails(seed) else RELIST_S
        self._kinds = ("batch/job", "workload") if makes(seed) else ("batch/job",)

    @property
    def ledger(self) -> WatchedLedger:
        """Return the ledger of now."""
        return self.ledgers[-1]

    def watch(self) -> LedgerWatch:
        """Return what an outsider knows of it."""
        return self.ledger.watch

    def begin_ledger(self) -> None:
        """Put an empty ledger in the place of the one there is."""
        self._kept.begin()
        self._object_to_releases()

    def _object_to_releases(self) -> None:
        self.watch().on_release = self.observer.object_to_release
        self.watch().on_removal = self.observer.object_to_removal
        self.watch().past.on_restored = self.observer.object_to_restore
        self.watch().on_order = self._hand_over

    def back_up_ledger(self) -> LedgerBackup:
        """Copy the ledger as it is now."""
        return self._kept.back_up()

    def bring_back_ledger(self, kept: LedgerBackup) -> None:
        """Put a copy in the place of the ledger."""
        self._kept.bring_back(kept)
        self._object_to_releases()
        self.disturbed()

    def dispose(self) -> None:
        """Close every ledger."""
        self._kept.dispose()

    async def run(self) -> None:
        """Live from the beginning to rest; raise what a judge objected to."""
        async with asyncio.TaskGroup() as tasks:
            around = [tasks.create_task(work) for work in self._surroundings()]
            await self.people.work()
            self.storms.end()
            for settling in self._settling():
                settling.settle()
            await self.come_to_rest()
            await self.disasters.strike_at_rest()
            for task in around:
                task.cancel()

    def _settling(self) -> tuple[Settling, ...]:
        return (
            self.disasters,
            self.outages,
            self.stalls,
            self.people,
            self.owners,
            self.checker,
            self.makers,
            self.growers,
            self.triers,
            self.editors,
            self.foresters,
            self.removers,
            self.switchers,
            self.crowds,
        )

    def _surroundings(self) -> list[Coroutine[Any, Any, None]]:
        bus, api = self.bus, self.cluster.api
        decide, self.statuses = processes.scheduler(
            bus, lambda: self.ledger, self._new_ledger_id, self._policy
        )
        kinds = partial(self.switchers.kinds, self._kinds)
        grows, others = self._grows, self.people
        observe = processes.ingest(
            bus, api, kinds, elastic=grows, others=others, relist_s=self._relist_s
        )
        act = processes.actuator(bus, api, elastic=grows, others=others)
        kept = [("scheduler-1", decide), ("scheduler-2", decide), ("ingest-1", observe)]
        kept += [("actuator-1", act), ("actuator-2", act)]
        if self.random.random() < 0.5:
            kept.append(("ingest-2", observe))
            self.needless.lags = True
        return [
            *(self._keep(name, body) for name, body in kept),
            self.cluster.controller_manager.run(),
            self.storms.run(),
            self.disasters.run(),
            self.outages.run(),
            self.stalls.run(),
            self.crowds.work(),
            self.owners.work(),
            self.checker.run(),
            self.makers.work(),
            self.growers.work(),
            self.triers.work(),
            self.editors.work(),
            self.foresters.work(),
            self.removers.work(),
            self.switchers.work(),
            self._subscribe(),
            self._tick(),
        ]

    async def _keep(self, name: str, body: processes.Body) -> None:
        """Run a process again whenever it ended; one that lags behind does so in every life."""
        random = Random(self.random.random())
        while True:
            life = self.lives[name] = Life(name, random, self.weather)
            if name == "ingest-2":
                life.lag_s_max, life.watch_lag_s_max = 0.5, 15.0
            self._names += 1
            work = body(life, f"{name}.{self._names}")
            life.main = asyncio.ensure_future(_passing(work, life))
            try:
                await asyncio.wait({life.main})
            finally:
                life.die()
            if not life.main.cancelled():
                life.main.result()
            self.deaths += 1
            await asyncio.sleep(random.uniform(0.1, 5.0))

    async def _subscribe(self) -> None:
        nats = self.bus.connect(Random(0))
        await nats.ensure_streams(self.bus.streams)
        async for message in nats.event_feed().follow(0):
            self.seen.append(message)

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(1)
            insist()
            if not self._all_is_well():
                self.calm_since_s = loop.time()
            calm = loop.time() - self.calm_since_s > SETTLED_S
            self.observer.tick(loop.time(), calm=calm)
            self.differences.tick(loop.time(), calm=loop.time() > self.calm_since_s)
            self.needless.tick(self.calm_since_s, calm=calm)

    def _all_is_well(self) -> bool:
        now_s = asyncio.get_running_loop().time()
        steady = all(
            (life.alive or life.retired) and life.stalled_until_s <= now_s
            for life in self.lives.values()
        )
        weather = self.weather
        until_s = weather.blind_until_s, weather.refused_until_s, self.bus.parted_until_s
        blind = now_s < max(until_s)
        blind = blind or self.storms.without_nodes or weather.is_away(now_s)
        quiet = not (self.storms.raging or self.switchers.off or self.bus.server.stalled)
        return steady and quiet and not (blind or self.bus.is_ahead())

    def _hand_over(self, order: StartOrdered | StopOrdered) -> None:
        """End the actuator that acts, or cut it off, while a job is to be started or stopped."""
        self.outages.ordered(order)
        loop, chosen = asyncio.get_running_loop(), self._handovers.random()
        acting = [life for _, life in sorted(self.lives.items()) if life.carrying.holds]
        if chosen < HANDED_OVER and loop.time() - self.calm_since_s > SETTLED_S:
            for life in acting:
                loop.call_soon(life.retire)
        elif chosen < CUT_OFF and self.storms.raging:
            for life in acting:
                self.storms.part(life, api=True)

    def _restart_ingest(self) -> None:
        self.disturbed()
        for name, life in sorted(self.lives.items()):
            if name.startswith("ingest"):
                life.die()

    def disturbed(self) -> None:
        """Note that something failed just now."""
        self.calm_since_s = asyncio.get_running_loop().time()

    async def come_to_rest(self) -> None:
        """Wait until every Job is done and everything is reported, written and published."""
        loop = asyncio.get_running_loop()
        self.rest.begin(loop.time())
        while why := unrest(self):
            waits = why.startswith("retention/") or not self._all_is_well()
            self.rest.tick(loop.time(), why, waits=waits)
            await asyncio.sleep(1)

    def _new_ledger_id(self) -> str:
        return f"ledger{len(self.ledgers)}"


async def _passing(work: Awaitable[None], life: Life) -> None:
    """Run a process; an error on purpose ends it, as a process ends; a bug ends the world."""
    with suppress(TidegateError):
        try:
            await work
        except BaseExceptionGroup as group:
            rest = group.split(TidegateError)[1]
            if rest is not None and life.alive:
                raise rest from None
