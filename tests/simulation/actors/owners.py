"""What owners of Jobs and queues change their minds about while the world runs.

They stop and open queues, move Jobs between queues, raise and lower priorities, deactivate and
activate, and configure by seed what else makes a workload wait: timeouts, checks, guarantees.
"""

from __future__ import annotations

import asyncio
from random import Random

from tests.simulation.actors.growers import ELASTIC
from tests.simulation.cluster import JOBS, KUEUE, PRIORITIES, Cluster, Object, named
from tidegate.model.policy import PodsReady, Policy

MAX_EXECUTION_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MIN_RUNTIME = "tidegate.dev/min-runtime"
CHECK = "budget"
CHECKED, GUARANTEED = "team-b", "team-a"
QUEUES = ("main", "spare")  # LocalQueues of each team
TEAMS = ("team-a", "team-b", "team-c")
OFTEN_S = 5.0  # how often what keeps Jobs waiting is put right at the end
_SECOND_US = 1_000_000


class Owners:
    """Owners who change Jobs and queues, by seed."""

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self._cluster, self._random = cluster, random
        self._over = False
        self.policy = self._drawn_policy()
        self._furnish()

    async def work(self) -> None:
        """Change a mind now and then; once it is over, only put right what keeps Jobs waiting."""
        while not self._over:
            await self._think(self._random.expovariate(0.1))
            if not self._over:
                self._change_a_mind()
        while True:
            self._activate_all()
            await asyncio.sleep(OFTEN_S)

    async def _think(self, long_s: float) -> None:
        """Let the time pass between two minds, or until it is over."""
        ends = asyncio.get_running_loop().time() + long_s
        while not self._over and (left_s := ends - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(min(left_s, OFTEN_S))

    def settle(self) -> None:
        """Open every queue, and wish for nothing more but that all may run."""
        self._over = True
        for team in TEAMS:
            self._stop_cluster_queue(team, "None")
            for queue in QUEUES:
                self._stop_local_queue(team, queue, "None")
        self._activate_all()

    def _drawn_policy(self) -> Policy:
        random = self._random
        waits = PodsReady(
            timeout_us=random.choice([20, 60]) * _SECOND_US,
            recovery_timeout_us=random.choice([None, 0, 15 * _SECOND_US]),
            block_admission=random.random() < 0.2,
            requeuing_timestamp=random.choice(["Eviction", "Creation"]),
            backoff_base_us=5 * _SECOND_US,
            backoff_max_us=30 * _SECOND_US,
            backoff_limit_count=random.choice([None, 2]),
        )
        return Policy(
            pods_ready=waits if random.random() < 0.7 else None,
            retain_finished_us=30 * _SECOND_US if random.random() < 0.5 else None,
        )

    def _furnish(self) -> None:
        """Give each team a second LocalQueue, one a check, another a guarantee."""
        act, random = self._cluster.act, self._random
        for team in TEAMS:
            spare = named("LocalQueue", "spare", spec={"clusterQueue": team})
            act("admin", "POST", f"{KUEUE}/namespaces/{team}/localqueues", spare)
        if random.random() < 0.5:
            guarantee: Object = {"metadata": {"annotations": {MIN_RUNTIME: "10s"}}}
            act("admin", "PATCH", f"{KUEUE}/clusterqueues/{GUARANTEED}", guarantee)
        if random.random() < 0.5:
            check = named("AdmissionCheck", CHECK, spec={"controllerName": "simulated/budget"})
            act("admin", "POST", f"{KUEUE}/admissionchecks", check)
            strategy = {"admissionChecks": [{"name": CHECK}]}
            checked: Object = {"spec": {"admissionChecksStrategy": strategy}}
            act("admin", "PATCH", f"{KUEUE}/clusterqueues/{CHECKED}", checked)

    def _change_a_mind(self) -> None:
        chosen, team = self._random.random(), self._random.choice(TEAMS)
        if chosen < 0.15:
            self._stop_cluster_queue(team, self._policy())
        elif chosen < 0.3:
            self._stop_local_queue(team, self._random.choice(QUEUES), self._policy())
        elif chosen < 0.5:
            self._activate(self._random.random() < 0.5)
        else:
            self._relabel()

    def _policy(self) -> str:
        return self._random.choice(["None", "None", "Hold", "HoldAndDrain"])

    def _stop_cluster_queue(self, team: str, policy: str) -> None:
        path = f"{KUEUE}/clusterqueues/{team}"
        self._cluster.act("admin", "PATCH", path, {"spec": {"stopPolicy": policy}})

    def _stop_local_queue(self, team: str, queue: str, policy: str) -> None:
        path = f"{KUEUE}/namespaces/{team}/localqueues/{queue}"
        self._cluster.act("admin", "PATCH", path, {"spec": {"stopPolicy": policy}})

    def _activate(self, active: bool) -> None:  # noqa: FBT001 - as the field is called
        workloads = self._workloads()
        if workloads:
            self._set_active(self._random.choice(workloads), active)

    def _activate_all(self) -> None:
        for workload in self._workloads():
            if not workload["spec"].get("active", True):
                self._set_active(workload, True)  # noqa: FBT003 - as the field is called

    def _set_active(self, obj: Object, active: bool) -> None:  # noqa: FBT001 - as the field is called
        meta = obj["metadata"]
        path = f"{KUEUE}/namespaces/{meta['namespace']}/workloads/{meta['name']}"
        self._cluster.act("user", "PATCH", path, {"spec": {"active": active}})

    def _relabel(self) -> None:
        """Move a Job that waits to another queue, or change its priority or its longest run."""
        jobs = [job for job in self._cluster.jobs() if QUEUE_LABEL in _labels(job)]
        if not jobs:
            return
        random, obj = self._random, self._random.choice(jobs)
        fields: dict[str, str] = {PRIORITY_LABEL: random.choice(list(PRIORITIES))}
        if obj["spec"].get("suspend"):
            fields |= {QUEUE_LABEL: random.choice(QUEUES)}
            if random.random() < 0.3:
                fields |= {MAX_EXECUTION_LABEL: str(longest_run_s(obj))}
        path = JOBS.format(obj["metadata"]["namespace"]) + "/" + obj["metadata"]["name"]
        self._cluster.act("user", "PATCH", path, {"metadata": {"labels": fields}})

    def _workloads(self) -> list[Object]:
        return list(self._cluster.api.registry.state.items("workloads.kueue.x-k8s.io"))


def longest_run_s(job: Object) -> int:
    """Return how long a Job may run: enough to end, however small, if nothing disturbs it."""
    spec = job["spec"]
    seconds = float(spec["template"]["metadata"]["annotations"]["simulate/seconds"])
    elastic = job["metadata"].get("annotations", {}).get(ELASTIC) == "true"
    return int(seconds * (spec.get("completions", 1) if elastic else 1)) + 15


def _labels(obj: Object) -> dict[str, str]:
    labels: dict[str, str] = obj["metadata"].get("labels", {})
    return labels
