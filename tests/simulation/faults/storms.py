"""When what fails: storms by seed, with the blows that an operator or a crash may deal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.faults.life import Life

if TYPE_CHECKING:
    from tests.simulation.world import World


SHARES = 0.2, 0.35, 0.6
"""Of all faults, those that a storm brings: by world, for many at once hide each other's."""
AWAY_S = 2.0, 12.0
PARTED_S = 8.0, 30.0
NO_NODES_S = 25.0, 70.0


class Storms:
    """Makes and ends bad weather in one world."""

    def __init__(self, world: World, random: Random, *, lossy: bool = False) -> None:
        self._world, self._random = world, random
        self.raging = self.without_nodes = False
        self._over = False
        self.lossless = (
            random.random() < 0.4 and not lossy
        )  # whatever dies, nothing that was reported is lost
        self._share = random.choice(SHARES)
        self._ledger_lost = self.lossless or random.random() < 0.6  # at most once, if at all
        self._blows: dict[float, Callable[[], None]] = {
            0.4: lambda: self._any_process().die(),
            0.45: lambda: self._any_process().stall(),
            0.5: world.cluster.api.compact,
            0.6: self._recreate_observations,
            0.65: world.bus.recreate_events,
            0.7: self._lose_the_ledger_once,
            0.78: self._part,
            0.83: self._take_nodes,
            1.0: self._leave,
        }

    async def run(self) -> None:
        """Let storms come and go until they are ended."""
        while not self._over:
            await asyncio.sleep(self._random.uniform(2, 15))
            if not self._over:
                self._begin()
                await self._rage(self._random.uniform(4, 25))
                self._calm()

    def end(self) -> None:
        """Let no storm come any more."""
        self._over = True
        self._calm()
        self._bring_nodes()

    def _begin(self) -> None:
        self.raging = True
        self._world.weather.worsen(self._random, share=self._share, lossless=self.lossless)

    def _calm(self) -> None:
        self.raging = False
        self._world.weather.calm()

    async def _rage(self, lasting_s: float) -> None:
        loop, random = asyncio.get_running_loop(), self._random
        ends_s = loop.time() + lasting_s
        while loop.time() < ends_s and not self._over:
            await asyncio.sleep(random.uniform(1, 6))
            self._strike()

    def _strike(self) -> None:
        """Deal one blow that no single call meets."""
        chosen = self._random.random()
        next(blow for until, blow in self._blows.items() if chosen < until)()

    def _any_process(self) -> Life:
        lives = self._world.lives
        return lives[self._random.choice(sorted(lives))]

    def _recreate_observations(self) -> None:
        if not self.lossless:
            self._world.bus.recreate_observations()

    def _leave(self) -> None:
        """Let the API server be away for a while; when it comes back its history is forgotten."""
        loop, lasting_s = asyncio.get_running_loop(), self._random.uniform(*AWAY_S)
        self._world.weather.struck["API server away"] += 1
        self._world.weather.away_s = loop.time(), loop.time() + lasting_s
        loop.call_later(lasting_s * self._random.random(), self._world.people.act_at_once)
        loop.call_later(lasting_s, self._world.cluster.api.compact)

    def _part(self) -> None:
        """Let one process reach no server, or only not NATS, for a while."""
        self.part(self._any_process(), api=self._random.random() < 0.5)

    def part(self, life: Life, *, api: bool) -> None:
        """Let a process not reach NATS for longer than a lease lasts, or not so long."""
        lasting_s = self._random.uniform(*PARTED_S)
        self._world.weather.struck["network lost" if api else "NATS not reached"] += 1
        self._world.bus.part(life.name, lasting_s)
        if api:
            now_s = asyncio.get_running_loop().time()
            life.parted_s = now_s, now_s + lasting_s

    def _take_nodes(self) -> None:
        """Let pods find no place for a while."""
        self._world.weather.struck["nodes gone"] += 1
        self._world.cluster.take_nodes()
        self.without_nodes = True
        loop = asyncio.get_running_loop()
        loop.call_later(self._random.uniform(*NO_NODES_S), self._bring_nodes)

    def _bring_nodes(self) -> None:
        if self.without_nodes:
            self.without_nodes = False
            self._world.cluster.bring_nodes()

    def _lose_the_ledger_once(self) -> None:
        if not self._ledger_lost:
            self._ledger_lost = True
            self.lose_the_ledger(self._random)

    def lose_the_ledger(self, random: Random) -> None:
        """Do as an operator does whose database is gone: begin anew."""
        for name, life in sorted(self._world.lives.items()):
            if name.startswith("scheduler"):
                life.die()
        if random.random() < 0.5:  # else the new ledger goes on behind the old one's events
            self._world.bus.recreate_events()
        self._world.begin_ledger()
