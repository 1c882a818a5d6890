"""The measured loads as objects: flavor, queues, Workloads and Jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from bench.virtual.loads import BORROWING_CPU, NAMESPACE, QUOTA_CPU, Arrival, Load

Object = dict[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"
WORKLOADS = f"/apis/{KUEUE}/namespaces/{NAMESPACE}/workloads"
POD_CPU_MAX = 5
"""Of a Job: a simulated node has 8."""
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


def namespace(name: str) -> Object:
    """Return a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def queues(load: Load, flavor: Object) -> Iterator[Object]:
    """Yield the flavor, by its spec, the ClusterQueues in their cohorts, a LocalQueue for each."""
    head = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "default"}}
    yield head | {"spec": flavor}
    for index in range(load.queues):
        yield _cluster_queue(index, f"cohort-{index // load.queues_each}")
        yield {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": f"lq-{index}", "namespace": NAMESPACE},
            "spec": {"clusterQueue": f"queue-{index}"},
        }


def workload(arrival: Arrival) -> bytes:
    """Return a Workload without an owner, as JSON; its priority is given as a number."""
    podset = {"name": "main", "count": 1, "template": {"spec": pod(str(arrival.cpu))}}
    body: Object = {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": arrival.name},
        "spec": {
            "queueName": f"lq-{arrival.queue}",
            "priority": arrival.priority,
            "podSets": [podset],
        },
    }
    return msgspec.json.encode(body)


def priority_classes(load: Load) -> Iterator[Object]:
    """Yield a WorkloadPriorityClass for each size, for Jobs have no number of their own."""
    for kind in load.kinds:
        yield {
            "apiVersion": KUEUE,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": kind.name},
            "value": kind.priority,
        }


def job(arrival: Arrival) -> bytes:
    """Return a queued Job that runs as long as the arrival says, as JSON.

    Its pods are no larger than a simulated node takes.
    """
    pods = -(-arrival.cpu // POD_CPU_MAX)
    labels = {
        "kueue.x-k8s.io/queue-name": f"lq-{arrival.queue}",
        "kueue.x-k8s.io/priority-class": arrival.name.partition("-")[0],
    }
    seconds = {"simulate/seconds": str(arrival.run_us / 1e6)}
    template = {"metadata": {"annotations": seconds}, "spec": pod(str(arrival.cpu // pods))}
    body: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": arrival.name, "labels": labels},
        "spec": {"suspend": True, "parallelism": pods, "completions": pods, "template": template},
    }
    return msgspec.json.encode(body)


def _cluster_queue(index: int, cohort: str) -> Object:
    quota = {
        "name": "cpu",
        "nominalQuota": str(QUOTA_CPU),
        "borrowingLimit": str(BORROWING_CPU),
    }
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "default", "resources": [quota]}],
    }
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": f"queue-{index}"},
        "spec": {
            "cohortName": cohort,
            "namespaceSelector": {},
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [group],
        },
    }


def pod(cpu: str) -> Object:
    """Return the spec of a pod that asks for so much."""
    requests = {"requests": {"cpu": cpu}}
    container = {"name": "c", "image": "none", "resources": requests}
    return {"restartPolicy": "Never", "containers": [container]}
