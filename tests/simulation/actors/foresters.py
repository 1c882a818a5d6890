"""Two teams below a tree of cohorts, on flavors that are nodes of one zone each.

In some worlds only, with a generator of their own. The tree is moved, and its quotas change.
"""

from __future__ import annotations

import asyncio
from random import Random

from tests.simulation.cluster import KUEUE, ROOTED, Cluster, Object, job, named

ZONES = ("zone-a", "zone-b")
_JOBS_MAX = 8
_SEEDS, _EVERY = (6, 9), 10


def plants(seed: int) -> bool:
    """Tell whether there is a tree of cohorts in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Foresters:
    """The teams, and the administrators of their cohorts."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, Random(f"foresters {seed}")
        self._left = _JOBS_MAX if plants(seed) else 0
        self._over = not self._left
        if self._left:
            self._plant()

    async def work(self) -> None:
        """Submit Jobs, and change the tree, until it is over."""
        while not self._over:
            await asyncio.sleep(self._random.uniform(1, 8))
            chosen = self._random.random()
            if self._left and chosen < 0.6:
                self._submit()
            elif chosen < 0.8:
                self._set_cohort("dept", self._random.choice(["org", ""]))
            else:
                self._set_cohort("org", "", self._random.choice([0, 500, 1_000]))

    def settle(self) -> None:
        """Let the tree be as it was planted."""
        if not self._over:
            self._set_cohort("dept", "org")
            self._set_cohort("org", "", 500)
        self._over = True

    def _plant(self) -> None:
        cluster = self._cluster
        for zone in ZONES:
            labels = {"zone": zone}
            made = named("ResourceFlavor", zone, spec={"nodeLabels": labels})
            cluster.act("admin", "POST", f"{KUEUE}/resourceflavors", made)
            cluster.controller_manager.add_node(f"node-{zone}", labels=labels)
        for name in ("org", "dept"):
            made = named("Cohort", name, spec=self._cohort("org" if name == "dept" else "", 500))
            cluster.act("admin", "POST", f"{KUEUE}/cohorts", made)
        for team, cohort in zip(ROOTED, ("dept", "org"), strict=True):
            spec: Object = {
                "namespaceSelector": {},
                "cohortName": cohort,
                "resourceGroups": groups(600),
                "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            }
            cluster.furnish(team, 0, spec)

    def _submit(self) -> None:
        made = job(
            f"rooted-{self._left}",
            pods=self._random.randint(1, 2),
            cpu_milli=self._random.choice([200, 300]),
            seconds=self._random.choice([3.0, 10.0, 25.0]),
            priority=self._random.choice(["low", "high"]),
        )
        self._left -= 1
        self._cluster.submit(self._random.choice(ROOTED), made)

    def _set_cohort(self, name: str, parent: str, milli: int = 500) -> None:
        path = f"{KUEUE}/cohorts/{name}"
        self._cluster.act("admin", "PATCH", path, {"spec": self._cohort(parent, milli)})

    def _cohort(self, parent: str, milli: int) -> Object:
        return {"parentName": parent or None, "resourceGroups": groups(milli)}


def groups(milli: int) -> list[Object]:
    """Return one resource group with the same quota of each zone."""
    quota = [{"name": "cpu", "nominalQuota": f"{milli}m"}]
    flavors = [{"name": zone, "resources": quota} for zone in ZONES]
    return [{"coveredResources": ["cpu"], "flavors": flavors}]
