"""One process of the world: it dies or stalls at any of its ports (``faults.ports``).

Everything that a service does to the world passes a port, so a death before and a death behind each
call are all the deaths there are. A dead process hears and changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

from tests.simulation.faults.weather import Fault, Weather
from tests.simulation.judging.contracts.carrying import Carrying
from tests.simulation.judging.contracts.following import Following
from tests.simulation.judging.contracts.heard import Heard
from tests.simulation.judging.contracts.watching import Watching

Result = TypeVar("Result")


class Life:
    """Whether one process lives; its ports ask here before and behind everything they do."""

    def __init__(self, name: str, random: Random, weather: Weather) -> None:
        self.name, self.random, self.weather = name, random, weather
        self.alive, self.retired = True, False
        self.lag_s_max = 0.01
        self.watch_lag_s_max = 0.02
        self.main: asyncio.Task[None] | None = None
        self.ends = list[Callable[[], None]]()  # what breaks when the process is gone
        self.stalled_until_s = 0.0
        self.parted_s = 0.0, 0.0  # since when and until when it does not reach the API server
        self.closed_s = dict[str, float]()  # watches that ended, and when
        self.heard, self.following, self.carrying = Heard(), Following(), Carrying()
        self.watching = Watching()

    def strikes(self, fault: Fault, share: float = 1.0) -> bool:
        return self.weather.strikes(fault, self.random, share)

    def die(self) -> None:
        """Be dead from now on; nothing is tidied up."""
        if self.alive:
            self.alive = False
            for end in self.ends:
                end()
            if self.main is not None:
                self.main.cancel()

    def retire(self) -> None:
        """End as a process that is asked to, with time to tidy up."""
        if self.alive and self.main is not None:
            self.retired = True
            self.main.cancel()

    def stall(self) -> None:
        """Do nothing for a while; others may take it for dead."""
        until_s = asyncio.get_running_loop().time() + self.random.uniform(5, 60)
        self.stalled_until_s = max(self.stalled_until_s, until_s)

    async def cross(self, lag_s_max: float | None = None) -> None:
        """Pass a point where the process may be late, stall or die."""
        if self.alive and self.strikes("death"):
            self.die()
        if self.strikes("stall"):
            self.stall()
        if not self.alive:
            raise asyncio.CancelledError
        most = self.lag_s_max if lag_s_max is None else lag_s_max
        if most:
            await asyncio.sleep(self.random.random() * most)
        while self.stalled_until_s > asyncio.get_running_loop().time():
            await asyncio.sleep(self.stalled_until_s - asyncio.get_running_loop().time())
        if not self.alive:
            raise asyncio.CancelledError

    async def call(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Do something over a connection, which is late by itself."""
        await self.cross(0)
        result = await work()
        await self.cross(0)
        return result

    async def run_sync(self, work: Callable[[], Result]) -> Result:
        """Do blocking work in place; see ``scheduler.dependencies.RunSync``."""
        if self.strikes("commit_stalls"):
            self.stall()
        await self.cross()
        result = work()
        await self.cross()
        return result
