"""A team whose Jobs are tried on several flavors at once, by variants.

Like the makers it is in some worlds only, and draws from a generator of its own. Its quotas change,
and so do the flavors that its queue has; its Jobs are deleted and made again.
"""

from __future__ import annotations

import asyncio
from random import Random

from tests.simulation.actors.owners import CHECK
from tests.simulation.actors.people import finished
from tests.simulation.cluster import JOBS, KUEUE, Cluster, Object, job, named

TEAM = "team-d"
GATES = {"ConcurrentAdmission": True}
_FLAVORS = ("fast", "fair", "slow")
_JOBS_MAX = 8
_SEEDS = (1, 4)
_EVERY = 10


def tries(seed: int) -> bool:
    """Tell whether Jobs are tried on several flavors in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Triers:
    """The team, its queue, and the administrators who change that."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, Random(f"triers {seed}")
        self._left = _JOBS_MAX if tries(seed) else 0
        self._names = list[str]()
        if self._left:
            self._furnish()

    async def work(self) -> None:
        """Submit Jobs, and change flavors and minds, until all is over."""
        while self._left or self._names:
            await asyncio.sleep(self._random.uniform(1, 8))
            chosen = self._random.random()
            if self._left and chosen < 0.5:
                self._submit()
            elif self._names and chosen < 0.65:
                self._delete(self._random.choice(self._names))
            elif chosen < 0.8:
                self._set_flavors(self._drawn())

    def settle(self) -> None:
        """Offer every flavor, and submit no more."""
        if self._left or self._names:
            self._set_flavors(_FLAVORS)
        self._left = 0
        self._names.clear()

    def _furnish(self) -> None:
        random, act = self._random, self._cluster.act
        for flavor in _FLAVORS:
            act(
                "admin",
                "POST",
                f"{KUEUE}/resourceflavors",
                named("ResourceFlavor", flavor, spec={}),
            )
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}
        act("admin", "POST", "/api/v1/namespaces", space)
        spec: Object = {
            "namespaceSelector": {},
            "resourceGroups": groups(_FLAVORS, random.choice([1_000, 1_500])),
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "concurrentAdmissionPolicy": {"migration": self._migration()},
        }
        if random.random() < 0.4:
            check = named("AdmissionCheck", CHECK, spec={"controllerName": "simulated/budget"})
            act("admin", "POST", f"{KUEUE}/admissionchecks", check)
            spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK}]}
        made = act(
            "admin", "POST", f"{KUEUE}/clusterqueues", named("ClusterQueue", TEAM, spec=spec)
        )
        assert made.status < 300, made.body
        for name in ("main", "spare"):
            queue = named("LocalQueue", name, spec={"clusterQueue": TEAM})
            act("admin", "POST", f"{KUEUE}/namespaces/{TEAM}/localqueues", queue)

    def _migration(self) -> Object:
        chosen = self._random.random()
        if chosen < 0.3:
            return {"mode": "RetainFirstAdmission"}
        last = {"constraints": {"lastAcceptableFlavorName": "fast"}} if chosen > 0.8 else {}
        return {"mode": "TryPreferredFlavors", **last}

    def _submit(self) -> None:
        random, name = self._random, f"tried-{self._left}"
        self._left -= 1
        made = job(
            name,
            pods=random.randint(1, 2),
            cpu_milli=random.choice([300, 500]),
            seconds=random.choice([3.0, 10.0, 30.0]),
            priority=random.choice(["low", "high"]),
        )
        self._cluster.submit(TEAM, made)
        self._names.append(name)

    def _delete(self, name: str) -> None:
        """Take a Job away, sometimes to make a namesake."""
        self._names.remove(name)
        fields = self._cluster.api.registry.state.get("jobs.batch", TEAM, name)
        if fields is None or finished(fields) or self._random.random() < 0.6:
            return
        place = f"{JOBS.format(TEAM)}/{name}"
        self._cluster.act("user", "DELETE", place, {"propagationPolicy": "Background"})
        if self._random.random() < 0.5:
            self._cluster.submit(
                TEAM, job(name, pods=1, cpu_milli=400, seconds=4.0, priority="high")
            )

    def _drawn(self) -> tuple[str, ...]:
        return tuple(
            flavor for flavor in _FLAVORS if flavor == "fast" or self._random.random() < 0.7
        )

    def _set_flavors(self, flavors: tuple[str, ...]) -> None:
        milli = self._random.choice([1_000, 1_500])
        wanted = {"spec": {"resourceGroups": groups(flavors, milli)}}
        self._cluster.act("admin", "PATCH", f"{KUEUE}/clusterqueues/{TEAM}", wanted)


def groups(flavors: tuple[str, ...], milli: int) -> list[Object]:
    """Return the one resource group of the team's queue."""
    quota = [{"name": "cpu", "nominalQuota": f"{milli}m"}]
    return [
        {
            "coveredResources": ["cpu"],
            "flavors": [{"name": flavor, "resources": quota} for flavor in flavors],
        }
    ]
