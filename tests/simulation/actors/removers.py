"""Administrators who delete what is in use, queues, a namespace, a CRD, and make it again.

In some worlds only, with a team and a generator of their own.
"""

from __future__ import annotations

import asyncio
from random import Random

import msgspec

from tests.simulation.cluster import JOBS, KUEUE, Cluster, crds, job
from tests.simulation.faults.weather import Weather

TEAM, QUOTA_MILLI = "team-y", 1_500
_JOBS_MAX, _AWAY_S, _SHORT_S = 6, (3.0, 15.0), 5.0
_SEEDS, _EVERY = (3, 8), 10
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_BACKGROUND = {"propagationPolicy": "Background"}


def removes(seed: int) -> bool:
    """Tell whether what is in use is deleted in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Removers:
    """Administrators who delete, and the team that suffers."""

    def __init__(self, cluster: Cluster, weather: Weather, seed: int) -> None:
        self._cluster, self._weather = cluster, weather
        self._random = Random(f"removers {seed}")
        self._left = _JOBS_MAX if removes(seed) else 0
        self._over = not self._left
        if self._left:
            cluster.furnish(TEAM, QUOTA_MILLI)

    @property
    def done(self) -> bool:
        """Tell whether everything is there again."""
        return self._over and not self._left

    async def work(self) -> None:
        """Submit, delete and make again until it is over; then see to it that all is there."""
        while not self._over:
            await asyncio.sleep(self._random.uniform(1, 8))
            if self._left and self._random.random() < 0.5:
                self._submit()
            else:
                await self._remove()
        await self._make_whole()
        self._left = 0

    def settle(self) -> None:
        """Delete nothing more."""
        self._over = True

    def _submit(self) -> None:
        made = job(
            f"suffers-{self._left}",
            pods=self._random.randint(1, 2),
            cpu_milli=self._random.choice([300, 600]),
            seconds=self._random.choice([3.0, 12.0]),
            priority="low",
        )
        self._left -= 1
        self._cluster.submit(TEAM, made)

    async def _remove(self) -> None:
        path, what = self._random.choice(
            [
                (f"{KUEUE}/namespaces/{TEAM}/localqueues/main", "LocalQueue deleted"),
                (f"{KUEUE}/clusterqueues/{TEAM}", "ClusterQueue deleted"),
                (f"/api/v1/namespaces/{TEAM}", "namespace deleted"),
                (f"{_DEFINITIONS}/cohorts.kueue.x-k8s.io", "CRD deleted"),
            ]
        )
        self._weather.struck[what] += 1
        self._cluster.act("admin", "DELETE", path, _BACKGROUND)
        await asyncio.sleep(self._random.uniform(*_AWAY_S))
        await self._make_whole()

    async def _make_whole(self) -> None:
        """Make again what is missing, as soon as what is being deleted is gone."""
        state = self._cluster.api.registry.state
        wanted = [
            ("namespaces", "", TEAM),
            ("clusterqueues.kueue.x-k8s.io", "", TEAM),
            ("localqueues.kueue.x-k8s.io", TEAM, "main"),
        ]
        while any(_is_going(state.get(*row)) for row in wanted):
            if self._over:  # no user waits for what a Job that never ends still uses
                self._delete_jobs()
            await asyncio.sleep(self._random.uniform(1, _SHORT_S))
        for definition in crds():
            self._cluster.act("admin", "POST", _DEFINITIONS, msgspec.json.decode(definition))
        self._cluster.furnish(TEAM, QUOTA_MILLI)

    def _delete_jobs(self) -> None:
        for obj in list(self._cluster.api.registry.state.items("jobs.batch", TEAM)):
            path = f"{JOBS.format(TEAM)}/{obj['metadata']['name']}"
            self._cluster.act("admin", "DELETE", path, _BACKGROUND)


def _is_going(obj: dict[str, object] | None) -> bool:
    metadata = {} if obj is None else obj["metadata"]
    assert isinstance(metadata, dict)
    return "deletionTimestamp" in metadata
