"""What befalls the services of two partitions: one hangs or is parted, NATS restarts or forgets."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from tests.simulation.bus import CLUSTER
from tidegate.bus.streams import stream_names

if TYPE_CHECKING:
    from tests.simulation.partitions.site import Site

Strike: TypeAlias = Literal[
    "scheduler away",
    "actuator away",
    "parted",
    "nats restarts",
    "nats forgets",
    "observations anew",
    "events anew",
    "no leader",
]
BETWEEN_S, LASTING_S = (5.0, 40.0), (5.0, 90.0)
FORGOTTEN_MAX = 4


class Strikes:
    """Strikes a world some times; draws from a generator of its own."""

    def __init__(self, site: Site, seed: int) -> None:
        self._site, self._random = site, Random(f"strikes {seed}")
        self.struck = Counter[Strike]()

    async def run(self, count: int) -> None:
        """Strike so many times."""
        for _ in range(count):
            await asyncio.sleep(self._random.uniform(*BETWEEN_S))
            what: Strike = self._random.choice(get_args(Strike))
            self.struck[what] += 1
            await self._strike(what)

    async def _strike(self, what: Strike) -> None:
        site, random = self._site, self._random
        number, lasting_s = random.choice((0, 1)), random.uniform(*LASTING_S)
        match what:
            case "scheduler away" | "actuator away":
                site.hold([f"{what[0]}-{number}"], lasting_s)
            case "parted":
                site.bus.part(random.choice(sorted(site.lives)), lasting_s)
            case "nats restarts" | "nats forgets":
                lost = 0 if what == "nats restarts" else random.randint(1, FORGOTTEN_MAX)
                site.bus.crash(lost=lost)
            case "observations anew":
                await self._recreate(stream_names(CLUSTER).observations)
            case "events anew":
                await self._recreate(stream_names(CLUSTER, number).events)
            case "no leader":
                site.bus.lack_leader(lasting_s / 5)

    async def _recreate(self, name: str) -> None:
        await asyncio.sleep(0.001)  # a stream is known by when it was made
        self._site.bus.recreate(name)
