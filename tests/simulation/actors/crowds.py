"""Teams that wait in crowds: one borrows what another has left, until that one wants its own.

In some worlds only, with a generator of their own. What a large Job leaves behind is enough for
some of both teams' small ones, and not for all. A third team fills its queue with Jobs of one
priority; then one that runs is worth less.
"""

from __future__ import annotations

import asyncio
from random import Random

from tests.simulation.actors.people import finished
from tests.simulation.cluster import JOBS, PRIORITY_LABEL, Cluster, job

TEAMS, RANKED = ("team-a", "team-b"), "team-c"
_CROWDS_MAX, _LARGE, _OWN, _MORE, _EQUAL = 3, 4, 3, 2, 5
_SEEDS, _EVERY = (0, 8), 10


def crowds(seed: int) -> bool:
    """Tell whether teams come in crowds in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Crowds:
    """Users who submit many Jobs at once."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, Random(f"crowds {seed}")
        self._left = _CROWDS_MAX if crowds(seed) else 0
        self._made = 0

    async def work(self) -> None:
        """Bring one crowd after another, until it is over."""
        while self._left:
            self._left -= 1
            await self._compete()
            await self._rank()
            await asyncio.sleep(self._random.uniform(3, 12))

    def settle(self) -> None:
        """Submit no more Jobs."""
        self._left = 0

    async def _compete(self) -> None:
        """Let one team borrow all it can, and have more to start as the other wants its own."""
        borrower, owner = self._random.sample(TEAMS, 2)
        for _ in range(_LARGE):
            self._submit(borrower, pods=2)
        await asyncio.sleep(self._random.uniform(0.5, 3))
        for _ in range(_OWN):
            self._submit(owner)
        for _ in range(_MORE):
            self._submit(borrower)

    async def _rank(self) -> None:
        """Have more Jobs of high priority than there is quota; lower that of one which runs."""
        names = [self._submit(RANKED, priority="high") for _ in range(_EQUAL)]
        await asyncio.sleep(self._random.uniform(1, 4))
        state = self._cluster.api.registry.state
        documents = [state.get("jobs.batch", RANKED, name) for name in names]
        running = [obj for obj in documents if obj and not obj["spec"]["suspend"]]
        for obj in [document for document in running if not finished(document)][:1]:
            path = f"{JOBS.format(RANKED)}/{obj['metadata']['name']}"
            low = {"metadata": {"labels": {PRIORITY_LABEL: "low"}}}
            self._cluster.act("user", "PATCH", path, low)

    def _submit(self, team: str, *, pods: int = 1, priority: str = "low") -> str:
        self._made += 1
        name, seconds = f"crowd-{self._made}", self._random.uniform(4, 10)
        made = job(name, pods=pods, cpu_milli=1_000, seconds=seconds, priority=priority)
        self._cluster.submit(team, made)
        return name
