"""What people do: they submit Jobs, change their minds, and meddle."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

from tests.simulation.cluster import (
    COHORT,
    JOBS,
    NOMINAL_MILLI,
    PRIORITIES,
    QUEUE_LABEL,
    Cluster,
    Object,
    job,
    milli,
)

EARLY_MAX = 3
_SEEDS, _EVERY = (2,), 5
JOB_MILLI_MAX = 3_000  # below every team's own quota: each Job can run


class People:
    """All users that are not Tidegate, by seed."""

    def __init__(self, cluster: Cluster, random: Random, jobs_max: int) -> None:
        self._cluster, self._random, self._left = cluster, random, jobs_max
        self._made = 0

    def begin(self, seed: int) -> None:
        """Let some Jobs run before a scheduler is there to admit them, in some worlds."""
        if seed % _EVERY not in _SEEDS:
            return
        random = Random(f"before {seed}")
        for number in range(1, EARLY_MAX + 1):
            seconds = random.choice([10.0, 60.0])
            early = job(f"early-{number}", pods=2, cpu_milli=400, seconds=seconds, priority="low")
            early["spec"]["suspend"] = False
            self._cluster.submit(random.choice(list(COHORT)), early)

    async def work(self) -> None:
        """Submit what is to be submitted, and meddle in between; end when all is said."""
        random = self._random
        while self._left > 0:
            await asyncio.sleep(random.expovariate(0.5))
            chosen = random.random()
            if chosen < 0.7:
                self._submit()
                while self._left and random.random() < 0.3:
                    self._submit()  # at once: they compete for what is free
            elif chosen < 0.95:
                self._meddle()
            else:
                self._change_quota()

    def settle(self) -> None:
        """Give every team its quota back."""
        for team, cpu_milli in NOMINAL_MILLI.items():
            self._cluster.set_quota(team, cpu_milli)

    def overtake(self, path: str) -> None:
        """Do something to a Job that a service is about to change."""
        space, name = path.split("/")[5::2][:2]
        fields = self._cluster.api.registry.state.get("jobs.batch", space, name)
        if fields is not None and not finished(fields):
            self._do(fields, self._random.random())

    def act_at_once(self) -> None:
        """Submit a Job, or delete one."""
        items = list(self._unfinished())
        if self._left > 0 and self._random.random() < 0.6:
            self._submit()
        elif items:
            self._delete(self._random.choice(items))

    def submit_last(self) -> None:
        """Submit a Job after all others, which no user touches."""
        made = job("last", pods=1, cpu_milli=JOB_MILLI_MAX, seconds=4.0, priority="low")
        self._cluster.submit(min(COHORT), made)

    def _submit(self) -> None:
        random = self._random
        pods = random.randint(1, 3)
        self._made, self._left = self._made + 1, self._left - 1
        made = job(
            f"job-{self._made}",
            pods=pods,
            cpu_milli=random.randrange(200, JOB_MILLI_MAX // pods, 100),
            seconds=random.choice([2.0, 4.0, 10.0, 25.0]),
            priority=random.choice(list(PRIORITIES)),
        )
        if random.random() < 0.1:
            made["spec"]["suspend"] = False  # slips past the admission policy
        if random.random() < 0.05:
            del made["metadata"]["labels"][QUEUE_LABEL]  # none of our business
            made["spec"]["suspend"] = False
        self._cluster.submit(random.choice(list(COHORT)), made)

    def _meddle(self) -> None:
        items = list(self._unfinished())
        if not items:
            return
        fields = self._random.choice(items)
        self._do(fields, self._random.random())

    def _do(self, obj: Object, chosen: float) -> None:
        place = JOBS.format(obj["metadata"]["namespace"]) + "/" + obj["metadata"]["name"]
        if chosen < 0.3:
            self._cluster.act("user", "PATCH", place, {"spec": {"suspend": False}})
        elif chosen < 0.5:
            self._cluster.act("user", "PATCH", place, {"spec": {"suspend": True}})
        elif chosen < 0.7:
            self._delete(obj)
        elif chosen < 0.85:
            self._cluster.act(
                "user", "PATCH", place, {"metadata": {"annotations": {"note": str(self._made)}}}
            )
        else:
            self._kill_a_pod(obj)

    def _delete(self, obj: Object) -> None:
        """Delete a Job, and half the time make another in its place."""
        place = JOBS.format(obj["metadata"]["namespace"]) + "/" + obj["metadata"]["name"]
        self._cluster.act("user", "DELETE", place, {"propagationPolicy": "Background"})
        if self._random.random() < 0.5:
            self._make_again(obj)

    def replace(self, uid: str) -> None:
        """Delete a Job that is not over, and make another in its place."""
        for obj in list(self._unfinished()):
            if obj["metadata"]["uid"] == uid:
                place = JOBS.format(obj["metadata"]["namespace"]) + "/" + obj["metadata"]["name"]
                gone = {"propagationPolicy": "Background"}
                self._cluster.act("user", "DELETE", place, gone)
                self._make_again(obj)

    def _make_again(self, old: Object) -> None:
        """Create a namesake: another uid."""
        spec = old["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        made = job(
            old["metadata"]["name"],
            pods=1,
            cpu_milli=milli(spec),
            seconds=5.0,
            priority="high",
        )
        self._cluster.submit(old["metadata"]["namespace"], made)

    def _kill_a_pod(self, obj: Object) -> None:
        state = self._cluster.api.registry.state
        for pod in state.items("pods", obj["metadata"]["namespace"]):
            owners = pod["metadata"].get("ownerReferences") or ({"uid": ""},)
            if owners[0]["uid"] == obj["metadata"]["uid"]:
                name = pod["metadata"]["name"]
                place = f"/api/v1/namespaces/{obj['metadata']['namespace']}/pods/{name}"
                self._cluster.act("user", "DELETE", place, {})
                return

    def _change_quota(self) -> None:
        team = self._random.choice(list(NOMINAL_MILLI))
        self._cluster.set_quota(team, NOMINAL_MILLI[team] + self._random.choice([-500, 0, 1_000]))

    def _unfinished(self) -> Iterator[Object]:
        return (
            candidate_job for candidate_job in self._cluster.jobs() if not finished(candidate_job)
        )


def finished(obj: Object) -> bool:
    """Tell whether a Job is complete or failed."""
    conditions = obj.get("status", {}).get("conditions") or ()
    return any(
        condition["type"] in ("Complete", "Failed") and condition["status"] == "True"
        for condition in conditions
    )
