"""Owners whose Jobs are elastic: they make them larger and smaller while they run.

Like the makers they are in some worlds only, and draw from a generator of their own.
"""

from __future__ import annotations

import asyncio
from random import Random

from tests.simulation.actors.people import finished
from tests.simulation.cluster import JOBS, Cluster, job

ELASTIC = "kueue.x-k8s.io/elastic-job"
TEAM, SIZE_MAX = "team-a", 4
_COMPLETIONS, _JOBS_MAX = 6, 3
_SEEDS = (4, 5)
_EVERY = 10


def grows(seed: int) -> bool:
    """Tell whether Jobs grow and shrink in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Growers:
    """Users who change the size of Jobs that run."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, Random(f"growers {seed}")
        self._left = _JOBS_MAX if grows(seed) else 0
        self._names = list[str]()

    async def work(self) -> None:
        """Submit a few Jobs, and change their sizes until all is over."""
        while self._left or self._names:
            await asyncio.sleep(self._random.uniform(1, 8))
            if self._left and self._random.random() < 0.4:
                self._submit()
            elif self._names:
                self._resize(self._random.choice(self._names))

    def settle(self) -> None:
        """Let every Job be as large as it is."""
        self._left = 0
        self._names.clear()

    def _submit(self) -> None:
        name = f"elastic-{self._left}"
        self._left -= 1
        made = job(name, pods=1, cpu_milli=500, seconds=self._random.uniform(4, 20), priority="low")
        made["metadata"]["annotations"] = {ELASTIC: "true"}
        made["spec"] |= {"completions": _COMPLETIONS, "parallelism": self._size()}
        self._cluster.submit(TEAM, made)
        self._names.append(name)

    def _resize(self, name: str) -> None:
        fields = self._cluster.api.registry.state.get("jobs.batch", TEAM, name)
        if fields is None or finished(fields):
            self._names.remove(name)
            return
        path = f"{JOBS.format(TEAM)}/{name}"
        self._cluster.act("user", "PATCH", path, {"spec": {"parallelism": self._size()}})

    def _size(self) -> int:
        return self._random.randint(1, SIZE_MAX)
