"""Which fault strikes next, by seed: the simulated bus asks, a seed answers the same each time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Literal

from tidegate.errors import BusUnreachableError

SILENT = "The bus does not answer."
Fault = Literal[
    "unreachable",  # a request does not arrive
    "reply_lost",  # it was done, but the reply was lost
    "skip",  # a delivery leaves a message out
    "repeat",  # a delivery begins too early
    "interleave",  # a delivery is out of order
    "hole",  # a stored message is lost for good
    "recreate",  # OBSERVATIONS is deleted and made anew
    "recreate_events",  # EVENTS is
    "event_lost",  # a subscriber misses an event
]


class Fate:
    """A source of faults; without chances it is a quiet world."""

    def __init__(
        self, random: Random, chances: Mapping[Fault, float] | None = None, lag_s_max: float = 0.0
    ) -> None:
        self.random, self.lag_s_max = random, lag_s_max
        self.chances = dict[Fault, float](chances or {})
        self.struck = Counter[str]()
        self._due = Counter[Fault]()

    def once(self, fault: Fault) -> None:
        """Let a fault happen the next time that it can."""
        self._due[fault] += 1

    def strikes(self, fault: Fault) -> bool:
        """Return whether a fault happens now; a fault without a chance costs no random number."""
        chance = self.chances.get(fault, 0.0)
        hit = self._due[fault] > 0 or (chance > 0 and self.random.random() < chance)
        self._due[fault] -= self._due[fault] > 0
        self.struck[fault] += hit
        return hit

    def calm(self) -> None:
        """Let no fault happen from now on; delays stay."""
        self.chances.clear()

    async def reach(self) -> None:
        """Let a request travel to the bus.

        Raises:
            BusUnreachableError: it does not arrive.
        """
        await self.lag()
        if self.strikes("unreachable"):
            raise BusUnreachableError(SILENT)

    async def lag(self) -> None:
        """Wait as long as a message may travel, so that others get their turn in between."""
        await asyncio.sleep(self.random.random() * self.lag_s_max if self.lag_s_max else 0)
