"""Every port of the bus in one process, with faults by seed: for tests and the simulation."""

from __future__ import annotations

import asyncio
from random import Random

from tests.bus.memory.bodies import MemoryBodies
from tests.bus.memory.events import MemoryEventPublisher, MemoryFeed
from tests.bus.memory.faults import Fate
from tests.bus.memory.observations import MemoryObservationPublisher, MemoryObservationReader
from tests.bus.memory.stream import MemoryStream

EPOCH_US = 1_750_000_000_000_000
"""When the loop's clock was at 0, UTC microseconds: the simulation has no other calendar."""


class MemoryBus:
    """The streams of one process; made inside a running loop, whose clock is the bus's."""

    def __init__(
        self,
        fate: Fate | None = None,
        observations_max: int = 500_000,
        events_max: int = 500_000,
    ) -> None:
        self.fate = fate or Fate(Random(0))
        self._loop = asyncio.get_running_loop()
        self.observations = MemoryStream(self.now_us, observations_max, discard_new=True)
        self.events = MemoryStream(self.now_us, events_max, discard_new=False)
        self.resyncs = MemoryStream(self.now_us, 64, discard_new=False)
        self._leases = dict[str, tuple[str, float]]()
        self._bodies = dict[tuple[str, str], bytes]()

    def now_us(self) -> int:
        """Return the bus's time, UTC microseconds."""
        return EPOCH_US + round(self._loop.time() * 1_000_000)

    def observation_reader(self) -> MemoryObservationReader:
        """Return the scheduler's side of OBSERVATIONS."""
        return MemoryObservationReader(self.observations, self.resyncs, self.fate)

    def event_publisher(self) -> MemoryEventPublisher:
        """Return the scheduler's side of EVENTS."""
        return MemoryEventPublisher(self.events, self.fate)

    def observation_publisher(self) -> MemoryObservationPublisher:
        """Return the side of OBSERVATIONS that ingest and the actuator write to."""
        return MemoryObservationPublisher(self.observations, self.resyncs, self.fate)

    def event_feed(self, fate: Fate | None = None) -> MemoryFeed:
        """Return EVENTS to read, with faults of its own if ``fate`` is given."""
        return MemoryFeed(self.events, fate or self.fate)

    def bodies(self, cluster: str = "local") -> MemoryBodies:
        """Return the bodies of jobs that may be placed, as a cluster keeps and reads them."""
        return MemoryBodies(self._bodies, cluster, self.fate)

    def lease(self, name: str, holder: str, ttl_s: int = 10) -> MemoryLease:
        """Return a lease that expires ``ttl_s`` seconds after it was last held."""
        return MemoryLease(self._leases, name, holder, ttl_s)


class MemoryLease:
    """``tidegate.bus.ports.Lease`` in one process."""

    def __init__(
        self, leases: dict[str, tuple[str, float]], name: str, holder: str, ttl_s: int
    ) -> None:
        self._leases, self._name, self._holder, self._ttl_s = leases, name, holder, ttl_s

    async def try_acquire_or_renew(self) -> bool:
        """See ``tidegate.bus.ports.Lease.try_acquire_or_renew``."""
        await asyncio.sleep(0)
        now = asyncio.get_running_loop().time()
        holder, until = self._leases.get(self._name, ("", 0.0))
        if holder not in ("", self._holder) and now < until:
            return False
        self._leases[self._name] = self._holder, now + self._ttl_s
        return True

    async def release(self) -> None:
        """See ``tidegate.bus.ports.Lease.release``."""
        await asyncio.sleep(0)
        if self._leases.get(self._name, ("", 0.0))[0] == self._holder:
            del self._leases[self._name]
