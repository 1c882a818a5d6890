"""BODIES in memory: of each cluster what it stored, the oldest dropped beyond a bound in bytes."""

from __future__ import annotations

from tests.bus.memory.faults import Fate

BODIES_BYTES = 64 * 1024


class MemoryBodies:
    """``tidegate.bus.ports.BodyWriter`` and ``BodyReader`` in one process."""

    def __init__(self, stored: dict[tuple[str, str], bytes], cluster: str, fate: Fate) -> None:
        """``stored``: by cluster and digest, oldest first, of all clusters on one bus."""
        self._stored, self._cluster, self._fate = stored, cluster, fate

    async def put(self, digest: str, body: bytes) -> None:
        """See ``tidegate.bus.ports.BodyWriter.put``."""
        await self._fate.reach()
        self._stored.pop((self._cluster, digest), None)
        self._stored[self._cluster, digest] = body
        own = [place for place in self._stored if place[0] == self._cluster]
        while sum(len(self._stored[place]) for place in own) > BODIES_BYTES:
            del self._stored[own.pop(0)]

    async def delete(self, digest: str) -> None:
        """See ``tidegate.bus.ports.BodyWriter.delete``."""
        await self._fate.reach()
        self._stored.pop((self._cluster, digest), None)

    async def read(self, cluster: str, digest: str) -> bytes | None:
        """See ``tidegate.bus.ports.BodyReader.read``."""
        await self._fate.reach()
        return self._stored.get((cluster, digest))
