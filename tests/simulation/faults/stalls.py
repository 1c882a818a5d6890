"""Streams that nats-server describes and stores nothing to, in some worlds only.

So it goes when a stream is made while the server still removes the files of its predecessor. The
scheduler is to make it anew; OBSERVATIONS is never healed by another hand. Like the outages they
draw from a generator of their own.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.bus import NAMES
from tests.simulation.faults.disasters import strikes

if TYPE_CHECKING:
    from tests.simulation.world import World

BETWEEN_S, IDLE_S = (2.0, 12.0), 60.0
_SEED, _EVERY = 32, 33


def stalls(seed: int) -> bool:
    """Tell whether streams stall in the world of a seed."""
    return seed % _EVERY == _SEED and not strikes(seed)


class Stalls:
    """Lets one stream after another store nothing, until the scheduler has made it anew."""

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._random = world, Random(f"stalls {seed}")
        self._over = not stalls(seed)

    def settle(self) -> None:
        """Let no other stream stall."""
        self._over = True

    async def run(self) -> None:
        """Let a stream stall now and then until that is over."""
        stalled = self._world.bus.server.stalled
        while not self._over:
            await asyncio.sleep(self._random.uniform(*BETWEEN_S))
            name = self._random.choice((NAMES.observations, NAMES.events))
            if not self._may_stall(name):
                continue
            self._world.weather.struck["a stream stores nothing"] += 1
            since_s = _now_s()
            # Without a publish no process notices: that is no harm, and ends by itself.
            while stalled and (NAMES.observations in stalled or _now_s() - since_s < IDLE_S):
                await asyncio.sleep(1)
            stalled.clear()

    def _may_stall(self, name: str) -> bool:
        return not self._over and self._world.bus.stall(name)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
