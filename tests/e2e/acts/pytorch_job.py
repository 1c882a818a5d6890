"""PyTorchJobs: here a role's pods are a Job's."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, condition, has_condition
from tests.e2e.operators import count
from tests.parts.foreign import foreign_crd, pods_template

Object = dict[str, Any]
ROLES = ("Master", "Worker")


def pytorch_job(name: str, queue: str, seconds: float) -> Object:
    """Return a PyTorchJob of a master and one worker."""
    replicas = {"replicas": 1, "template": pods_template("1", seconds)}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"pytorchReplicaSpecs": dict.fromkeys(ROLES, replicas)},
    }


def children(parent: Object) -> list[tuple[str, Object]]:
    """Return a Job for each role of a PyTorchJob that may run."""
    spec, name = parent["spec"], parent["metadata"]["name"]
    if spec.get("runPolicy", {}).get("suspend"):
        return []
    return [
        (f"{name}-{role.lower()}", {"spec": {"template": one["template"]}})
        for role, one in spec["pytorchReplicaSpecs"].items()
    ]


def status(parent: Object, jobs: list[Object]) -> Object:
    """Return how a PyTorchJob stands, as its Jobs do."""
    del parent
    by_role = {job["metadata"]["name"].rpartition("-")[2].title(): job for job in jobs}
    told: Object = {
        "replicaStatuses": {
            role: {"active": count([by_role[role]] if role in by_role else [], "active")}
            for role in ROLES
        }
    }
    kinds = ["Running"] if count(jobs, "ready") == len(ROLES) else []
    done = len(jobs) == len(ROLES) and all(has_condition(job, "Complete") for job in jobs)
    return told | {"conditions": [condition(kind) for kind in (["Succeeded"] if done else kinds)]}


def active(found: Object) -> bool:
    """Tell whether both roles run."""
    statuses = found.get("status", {}).get("replicaStatuses", {})
    return all(statuses.get(role, {}).get("active") for role in ROLES)


ACTS = (
    Act(
        namespace="life-pytorch",
        framework="kubeflow.org/pytorchjob",
        path="/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs",
        make=pytorch_job,
        templates=lambda found: [
            found["spec"]["pytorchReplicaSpecs"][role]["template"] for role in ROLES
        ],
        finished=lambda found: has_condition(found, "Succeeded"),
        active=active,
        suspend="spec.runPolicy.suspend",
        crd=foreign_crd("pytorchjob"),
        children=children,
        status=status,
    ),
)
