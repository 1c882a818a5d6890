"""The demo's cluster: two teams that lend to each other, one with its own quota, and 60 Jobs.

Always the same: what differs between two runs is what the cluster made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]

KUEUE = "kueue.x-k8s.io/v1beta2"
JOBS = 60
TEAMS = {"team-a": ("8", "shared"), "team-b": ("8", "shared"), "team-c": ("6", "")}
"""Namespace and ClusterQueue of each team: nominal CPU, and the cohort it lends to."""
PRIORITIES = {"low": 10, "normal": 100, "high": 1_000}
SIZES = ((1, "500m"), (2, "500m"), (1, "1"), (2, "1"), (3, "1"), (4, "1"))
"""Pods of a Job, and CPU of each."""


def queue_manifests() -> Iterator[Manifest]:
    """Yield what an administrator applies: flavor, priority classes, and a queue a team."""
    yield {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "standard"}}
    for name, value in PRIORITIES.items():
        yield {
            "apiVersion": KUEUE,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": f"{name} priority of the demo",
        }
    for team, (cpu, cohort) in TEAMS.items():
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}}
        yield _cluster_queue(team, cpu, cohort)
        yield {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": team},
            "spec": {"clusterQueue": team},
        }


def job_manifests() -> Iterator[Manifest]:
    """Yield the Jobs in the order of their submission, mixed in size, priority and run time."""
    teams, priorities = list(TEAMS), list(PRIORITIES)
    for number in range(JOBS):
        # team-a submits most and early, so that it borrows; team-b comes later and reclaims.
        team = teams[0] if number % 5 in {0, 1} or number < JOBS // 6 else teams[1 + number % 2]
        pods, cpu = SIZES[(number * 7 + number // 6) % len(SIZES)]
        yield _job(f"job-{number:02d}", team, priorities[number * 5 % 7 % 3], pods, cpu)


def _cluster_queue(team: str, cpu: str, cohort: str) -> Manifest:
    quota = {"name": "cpu", "nominalQuota": cpu} | ({"borrowingLimit": "6"} if cohort else {})
    spec: Manifest = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": team}},
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "standard", "resources": [quota]}],
            }
        ],
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    if cohort:
        spec["cohortName"] = cohort
        spec["preemption"]["reclaimWithinCohort"] = "Any"
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": team},
        "spec": spec,
    }


def _job(name: str, team: str, priority: str, pods: int, cpu: str) -> Manifest:
    seconds = 1 + sum(map(ord, name)) % 4
    labels = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/priority-class": priority}
    container = {
        "name": "work",
        "image": "busybox:stable",
        "command": ["sleep", str(seconds)],
        "resources": {"requests": {"cpu": cpu}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": team, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 0,
            "template": {
                "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }
