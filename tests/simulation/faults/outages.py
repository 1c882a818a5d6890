"""What is out of order for a while though every server is reached, in some worlds only.

JetStream has no leader: it answers that it can do nothing now, and no connection breaks. A webhook
does not answer, so the API server refuses the services' changes of Jobs: an actuator holds orders
while others act, and while a lease is lost. Like the disasters they draw from a generator of
their own.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from tidegate.contracts.decisions import StartOrdered, StopOrdered

if TYPE_CHECKING:
    from tests.simulation.world import World

RELIST_S = 20.0
"""How often all is listed in these worlds: also while what a watch told is on its way."""
LEADERLESS_S, BETWEEN_S = (5.0, 20.0), (2.0, 10.0)
REFUSED_S, REFUSED_LONG_S = (2.0, 8.0), (17.0, 22.0)
CUT_S, UNREACHED_S = (0.3, 1.5), (22.0, 30.0)
LONG, SHORT, REPLACED = 0.15, 0.5, 0.5
_SEEDS, _EVERY = (1, 2, 6), 10


def ails(seed: int) -> bool:
    """Tell whether anything is out of order in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Outages:
    """Takes JetStream's leader away, and the API server's consent."""

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._random = world, Random(f"outages {seed}")
        self._over = not ails(seed)

    def settle(self) -> None:
        """Begin no other outage."""
        self._over = True

    async def run(self) -> None:
        """Take the leader away now and then until that is over."""
        while not self._over:
            await asyncio.sleep(self._random.uniform(*BETWEEN_S))
            if not self._over:
                self._world.weather.struck["JetStream without a leader"] += 1
                self._world.bus.lack_leader(self._random.uniform(*LEADERLESS_S))

    def ordered(self, order: StartOrdered | StopOrdered) -> None:
        """Refuse changes of Jobs just when a job is to be started or stopped, now and then."""
        chosen = self._random.random()
        if self._over or self._world.weather.refuses(_now_s()):
            return
        if chosen < LONG:
            self._refuse(self._random.uniform(*REFUSED_LONG_S))
            loop = asyncio.get_running_loop()
            loop.call_later(self._random.uniform(*CUT_S), self._cut_off)
        elif chosen < SHORT:
            lasting_s = self._random.uniform(*REFUSED_S)
            self._refuse(lasting_s)
            if self._random.random() < REPLACED:
                later_s = lasting_s * self._random.random()
                replace, uid = self._world.people.replace, order.job.uid
                asyncio.get_running_loop().call_later(later_s, replace, uid)

    def _refuse(self, lasting_s: float) -> None:
        self._world.weather.struck["changes refused"] += 1
        self._world.weather.refused_until_s = _now_s() + lasting_s

    def _cut_off(self) -> None:
        """Let the actuator that acts lose its lease with orders in its hand."""
        for _, life in sorted(self._world.lives.items()):
            if life.carrying.holds:
                self._world.weather.struck["lease lost"] += 1
                self._world.bus.part(life.name, self._random.uniform(*UNREACHED_S))


def _now_s() -> float:
    return asyncio.get_running_loop().time()
