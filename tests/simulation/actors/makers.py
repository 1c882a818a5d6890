"""Owners who make the Workloads of their Jobs themselves, before or after, and not always right.

They are in some worlds only, and draw from a generator of their own: whatever else a world does by
its seed stays as it is.
"""

from __future__ import annotations

import asyncio
from random import Random

from tests.simulation.actors.people import finished
from tests.simulation.cluster import JOBS, KUEUE, Cluster, Object, job, named

PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
TEAM = "team-b"
MADE_MAX = 6
_SEEDS = (1, 5)
_EVERY = 10


def makes(seed: int) -> bool:
    """Tell whether users make Workloads in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Makers:
    """Users who make Workloads by hand."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, Random(f"makers {seed}")
        self._left = MADE_MAX if makes(seed) else 0
        self._jobs = dict[str, Object]()  # by name, which is their Workload's too
        self._over = False

    @property
    def done(self) -> bool:
        """Tell whether each Job has ended, or was given up."""
        return not self._left and not self._jobs

    async def work(self) -> None:
        """Make Jobs and Workloads in any order, and in the end whatever is missing."""
        while not self.done:
            await asyncio.sleep(self._random.uniform(1, 12))
            if self._over:
                self._mend()
            elif self._left and self._random.random() < 0.6:
                self._begin()
            elif self._jobs:
                self._go_on(self._random.choice(list(self._jobs)))

    def settle(self) -> None:
        """Begin nothing more, and put right what keeps Jobs waiting."""
        self._left, self._over = 0, True

    def _begin(self) -> None:
        random, name = self._random, f"made-{self._left}"
        self._left -= 1
        made = job(name, pods=random.randint(1, 2), cpu_milli=500, seconds=5.0, priority="low")
        made["metadata"]["labels"][PREBUILT] = name
        self._jobs[name] = made
        first = random.random()
        if first < 0.6:
            self._make(name, wrong=random.random() < 0.2)
        if first > 0.3:
            self._cluster.submit(TEAM, made)

    def _go_on(self, name: str) -> None:
        """Make what is missing of a Job and its Workload, or take the Workload away."""
        if self._job(name) is None:
            self._cluster.submit(TEAM, self._jobs[name])
        elif self._workload(name) is None:
            self._make(name, wrong=False)
        elif self._random.random() < 0.3:
            self._cluster.act("maker", "DELETE", self._path(name))

    def _mend(self) -> None:
        for name in list(self._jobs):
            fields, made = self._job(name), self._workload(name)
            if fields is not None and finished(
                fields
            ):  # perhaps a namesake, and not its Workload's
                self._cluster.act("maker", "DELETE", self._path(name))
                del self._jobs[name]
            elif made is not None and _is_over(made):
                self._give_up(name)
            elif fields is None and made is not None:
                self._cluster.submit(TEAM, self._jobs[name])
            elif fields is None:
                del self._jobs[name]
            elif made is None:
                self._make(name, wrong=False)

    def _give_up(self, name: str) -> None:
        place = f"{JOBS.format(TEAM)}/{name}"
        self._cluster.act("maker", "DELETE", place, {"propagationPolicy": "Background"})
        self._cluster.act("maker", "DELETE", self._path(name))

    def _make(self, name: str, *, wrong: bool) -> None:
        spec = self._jobs[name]["spec"]
        count = spec["parallelism"] + wrong
        podset = {"name": "main", "count": count, "template": spec["template"]}
        made = named("Workload", name, spec={"queueName": "main", "podSets": [podset]})
        self._cluster.act("maker", "POST", self._path(""), made)

    def _path(self, name: str) -> str:
        return f"{KUEUE}/namespaces/{TEAM}/workloads/{name}".rstrip("/")

    def _job(self, name: str) -> Object | None:
        return self._cluster.api.registry.state.get("jobs.batch", TEAM, name)

    def _workload(self, name: str) -> Object | None:
        return self._cluster.api.registry.state.get("workloads.kueue.x-k8s.io", TEAM, name)


def _is_over(made: Object) -> bool:
    held = made.get("status", {}).get("conditions", ())
    return any(
        (condition["type"], condition["status"]) == ("Finished", "True") for condition in held
    )
