"""The Kubernetes side of the world: an API server's state, its controllers, queues and Jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from apiserver.api import EmbeddedApi
from apiserver.controllers.controller_manager import ControllerManager
from tidegate.kube.ports import MERGE_PATCH, Response

Object = dict[str, Any]
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
HOSTILE = "simulate/hostile"
"""Marks a Job whose annotations a user made unreadable or untrue."""
LABELS = ("zone",)
"""Of nodes, that flavors select by."""
KINDS = (
    "admissionchecks",
    "clusterqueues",
    "cohorts",
    "localqueues",
    "resourceflavors",
    "workloadpriorityclasses",
    "workloads",
)
NOMINAL_MILLI = {"team-a": 4_000, "team-b": 4_000, "team-c": 3_000}
BORROWING_MILLI = {"team-a": 2_000, "team-b": None, "team-c": None}
COHORT = {"team-a": "main", "team-b": "main", "team-c": ""}
ROOTED = ("team-e", "team-f")
"""Teams below a tree of cohorts; see ``tests.simulation.actors.foresters``."""
PRIORITIES = {"low": 10, "high": 100}
NODES, DELAY_US_MAX = 4, 300_000


class Cluster:
    """An API server with queues of three teams, and what people do to it."""

    def __init__(self, now_us: Callable[[], int], random: Random) -> None:
        self.api = EmbeddedApi(now_us=now_us, random=Random(random.random()))
        pace = Random(random.random())
        self.controller_manager = ControllerManager(
            self.api, delay_us=lambda: pace.randrange(DELAY_US_MAX)
        )
        self.bring_nodes()
        self.acting = ""  # the user or controller that changes the cluster now, if it is no service
        self._fill()

    def act(self, who: str, method: str, path: str, body: Object | None = None) -> Response:
        """Do something as a user or controller that is no service of ours."""
        self.acting = who
        try:
            data = None if body is None else msgspec.json.encode(body)
            kind = MERGE_PATCH if method == "PATCH" else "application/json"
            return self.api.call(method, path, body=data, content_type=kind)
        finally:
            self.acting = ""

    def submit(self, team: str, job: Object) -> Response:
        """Create a Job in its team's namespace."""
        return self.act("user", "POST", JOBS.format(team), job)

    def set_quota(self, team: str, cpu_milli: int) -> Response:
        """Change a team's nominal quota."""
        return self.act(
            "admin", "PATCH", f"{KUEUE}/clusterqueues/{team}", {"spec": queue_spec(team, cpu_milli)}
        )

    def furnish(self, team: str, cpu_milli: int, spec: Object | None = None) -> None:
        """Give another team a namespace, a ClusterQueue and LocalQueues; what is there stays."""
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}}
        self.act("admin", "POST", "/api/v1/namespaces", space)
        quota = [{"name": "cpu", "nominalQuota": f"{cpu_milli}m"}]
        flavors = [{"name": "default", "resources": quota}]
        groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
        alone: Object = {"namespaceSelector": {}, "resourceGroups": groups}
        made = named("ClusterQueue", team, spec=alone if spec is None else spec)
        self.act("admin", "POST", f"{KUEUE}/clusterqueues", made)
        for name in ("main", "spare"):
            queue = named("LocalQueue", name, spec={"clusterQueue": team})
            self.act("admin", "POST", f"{KUEUE}/namespaces/{team}/localqueues", queue)

    def bring_nodes(self) -> None:
        """Let every node be there."""
        for name in (f"node-{number}" for number in range(NODES)):
            if self.api.registry.state.get("nodes", "", name) is None:
                self.controller_manager.add_node(name)

    def take_nodes(self) -> None:
        """Take the nodes away: no pod finds a place, and those that run go on."""
        for number in range(NODES):
            self.act("admin", "DELETE", f"/api/v1/nodes/node-{number}", {})

    def jobs(self) -> list[Object]:
        """Return every Job as it stands."""
        return list(self.api.registry.state.items("jobs.batch"))

    def _fill(self) -> None:
        for definition in crds():
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            self._make(path, msgspec.json.decode(definition))
        self._make(f"{KUEUE}/resourceflavors", named("ResourceFlavor", "default", spec={}))
        for name, value in PRIORITIES.items():
            made = named("WorkloadPriorityClass", name, value=value)
            self._make(f"{KUEUE}/workloadpriorityclasses", made)
        for team, cpu_milli in NOMINAL_MILLI.items():
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}}
            self._make("/api/v1/namespaces", space)
            made = named("ClusterQueue", team, spec=queue_spec(team, cpu_milli))
            self._make(f"{KUEUE}/clusterqueues", made)
            queue = named("LocalQueue", "main", spec={"clusterQueue": team})
            self._make(f"{KUEUE}/namespaces/{team}/localqueues", queue)

    def _make(self, path: str, body: Object) -> None:
        answer = self.act("admin", "POST", path, body)
        assert answer.status < 300, answer.body


@cache
def crds() -> tuple[bytes, ...]:
    """Return the definitions as JSON, read once a process."""
    return tuple(
        msgspec.json.encode(
            msgspec.yaml.decode((CRDS / f"{kind}.kueue.x-k8s.io.yaml").read_bytes())
        )
        for kind in KINDS
    )


def named(kind: str, name: str, **fields: object) -> Object:
    """Return an object of Kueue's API."""
    head = {"apiVersion": KUEUE.removeprefix("/apis/"), "kind": kind}
    return {**head, "metadata": {"name": name}, **fields}


def milli(cpu: str) -> int:
    """Return a quantity of CPU in thousandths; a server writes 1000m as 1."""
    return int(cpu.removesuffix("m")) if cpu.endswith("m") else int(cpu) * 1_000


def queue_spec(team: str, cpu_milli: int) -> Object:
    """Return a team's ClusterQueue, as Kueue writes it."""
    quota: Object = {"name": "cpu", "nominalQuota": f"{cpu_milli}m"}
    borrowing = BORROWING_MILLI[team]
    if borrowing is not None:
        quota["borrowingLimit"] = f"{borrowing}m"
    flavors = [{"name": "default", "resources": [quota]}]
    spec: Object = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "queueingStrategy": "StrictFIFO" if team == "team-c" else "BestEffortFIFO",
    }
    if COHORT[team]:
        spec["cohortName"] = COHORT[team]
    return spec


def drawn_job(random: Random, name: str, seconds: Sequence[float]) -> Object:
    """Return a Job of one or two pods of half a CPU or a whole one, and of either priority."""
    return job(
        name,
        pods=random.choice([1, 2]),
        cpu_milli=random.choice([500, 1_000]),
        seconds=random.choice(seconds),
        priority=random.choice(["low", "high"]),
    )


def job(name: str, *, pods: int, cpu_milli: int, seconds: float, priority: str) -> Object:
    """Return a Job of so many pods at once, each asking for so much and living so long."""
    container = {
        "name": "main",
        "image": "work",
        "resources": {"requests": {"cpu": f"{cpu_milli}m"}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": {QUEUE_LABEL: "main", PRIORITY_LABEL: priority},
        },
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 50,
            "template": {
                "metadata": {"annotations": {"simulate/seconds": f"{seconds:.1f}"}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }
