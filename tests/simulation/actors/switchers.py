"""Administrators who switch a framework off and on: ingest starts anew, and watches jobs or not.

In some worlds only, with a generator of their own. What runs meanwhile runs on, and a user who made
a Job waits; once the framework is on again, all must be as if it had never been off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from tests.simulation.faults.weather import Weather

_AWAY_S, _BETWEEN_S = (3.0, 20.0), (8.0, 40.0)
_SEEDS, _EVERY = (0,), 10


def switches(seed: int) -> bool:
    """Tell whether a framework is switched off and on in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Switchers:
    """Administrators who change the configuration, and start each ingest again with it."""

    def __init__(self, weather: Weather, seed: int, restart: Callable[[], None]) -> None:
        self._weather, self._restart = weather, restart
        self._random = Random(f"switchers {seed}")
        self._over = not switches(seed)
        self.off = False

    def kinds(self, configured: tuple[str, ...]) -> tuple[str, ...]:
        """Return the job kinds of now."""
        return tuple(kind for kind in configured if not (self.off and kind == "batch/job"))

    async def work(self) -> None:
        """Switch off and on until it is over."""
        while not self._over:
            await asyncio.sleep(self._random.uniform(*_BETWEEN_S))
            if self._over:
                return
            self._weather.struck["framework switched off"] += 1
            self._switch(off=True)
            await asyncio.sleep(self._random.uniform(*_AWAY_S))
            self._switch(off=False)

    def settle(self) -> None:
        """Leave the framework on."""
        self._over = True
        self._switch(off=False)

    def _switch(self, *, off: bool) -> None:
        if self.off is not off:
            self.off = off
            self._restart()
