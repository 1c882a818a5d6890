"""When what fails: storms by seed, with the blows that an operator or a crash may deal."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.world import World


SHARES = 0.15, 0.3, 0.6
"""Of all faults, those that a storm brings: by world, for many at once hide each other's."""
AWAY_S = 2.0, 12.0


class Storms:
    """Makes and ends bad weather in one world."""

    def __init__(self, world: World, random: Random, *, lossy: bool = False) -> None:
        self._world, self._random = world, random
        self.raging = False
        self._over = False
        self.lossless = (
            random.random() < 0.4 and not lossy
        )  # whatever dies, nothing that was told is lost
        self._share = random.choice(SHARES)
        self._ledger_lost = self.lossless or random.random() < 0.6  # at most once, if at all

    async def run(self) -> None:
        """Let storms come and go until they are ended."""
        while not self._over:
            await asyncio.sleep(self._random.uniform(3, 40))
            if not self._over:
                self._begin()
                await self._rage(self._random.uniform(5, 45))
                self._calm()

    def end(self) -> None:
        """Let no storm come any more."""
        self._over = True
        self._calm()

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
            await asyncio.sleep(random.uniform(1, 10))
            self._strike()

    def _strike(self) -> None:
        """Deal one blow that no single call meets."""
        world, random = self._world, self._random
        chosen = random.random()
        if chosen < 0.4:
            world.lives[random.choice(sorted(world.lives))].die()
        elif chosen < 0.45:
            world.lives[random.choice(sorted(world.lives))].stall()
        elif chosen < 0.5:
            world.cluster.api.compact()
        elif chosen < 0.6 and not self.lossless:
            world.bus.recreate_observations()
        elif 0.6 <= chosen < 0.65:
            world.bus.recreate_events()
        elif 0.65 <= chosen < 0.7 and not self._ledger_lost:
            self._lose_the_ledger()
        elif chosen >= 0.85:
            self._leave()

    def _leave(self) -> None:
        """Let the API server be away for a while; when it comes back its history is forgotten."""
        loop, lasting_s = asyncio.get_running_loop(), self._random.uniform(*AWAY_S)
        self._world.weather.struck["API server away"] += 1
        self._world.weather.away_s = loop.time(), loop.time() + lasting_s
        loop.call_later(lasting_s, self._world.cluster.api.compact)

    def _lose_the_ledger(self) -> None:
        """Do as an operator does whose database is gone: begin anew."""
        self._ledger_lost = True
        for name, life in sorted(self._world.lives.items()):
            if name.startswith("scheduler"):
                life.die()
        if self._random.random() < 0.5:  # else the new ledger goes on behind the old one's events
            self._world.bus.recreate_events()
        self._world.begin_ledger()
