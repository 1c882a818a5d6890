"""Ray's kinds: here the pods of a cluster are Jobs', one of its head and one of its workers."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, condition, has_condition
from tests.e2e.operators import count, pods_asked
from tests.parts.definitions import RAY_CLUSTER, RAY_JOB, RAY_SERVICE
from tests.parts.foreign import pods_template
from tidegate.jobs.templates.paths import Path, value_at

Object = dict[str, Any]
ROLES = 2
ROOTS: dict[str, Path] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
}
"""Where a kind keeps its cluster."""
ANNOTATION = "simulate/seconds"
LONG_S = 3_600.0


def cluster(seconds: float) -> Object:
    """Return the spec of a cluster of a head and a worker."""
    pods: Object = {"rayStartParams": {}, "template": pods_template("1", seconds)}
    return {
        "headGroupSpec": pods,
        "workerGroupSpecs": [{"groupName": "crew", "replicas": 1, **pods}],
    }


def made(kind: str, name: str, queue: str, spec: Object) -> Object:
    """Return an object of one of Ray's kinds."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": spec,
    }


def ray_cluster(name: str, queue: str, seconds: float) -> Object:
    """Return a RayCluster, which serves until it is deleted."""
    del seconds
    return made("RayCluster", name, queue, cluster(LONG_S))


def ray_job(name: str, queue: str, seconds: float) -> Object:
    """Return a RayJob whose cluster is told what to do over HTTP."""
    spec = {
        "entrypoint": "python a.py",
        "submissionMode": "HTTPMode",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": cluster(seconds),
    }
    return made("RayJob", name, queue, spec)


def ray_service(name: str, queue: str, seconds: float) -> Object:
    """Return a RayService, which serves until it is deleted."""
    del seconds
    return made("RayService", name, queue, {"rayClusterConfig": cluster(LONG_S)})


def templates(obj: Object) -> list[Object]:
    """Return the templates of a cluster's head and workers."""
    spec = value_at(obj, ROOTS[obj["kind"]])
    return [spec["headGroupSpec"]["template"], spec["workerGroupSpecs"][0]["template"]]


def children(parent: Object) -> list[tuple[str, Object]]:
    """Return the Jobs of a cluster that may run."""
    root = ROOTS[parent["kind"]]
    suspended = value_at(parent, (*root, "suspend")) or parent["spec"].get("suspend")
    if suspended:
        return []
    name = parent["metadata"]["name"]
    workers = value_at(parent, (*root, "workerGroupSpecs", 0, "replicas"))
    roles = zip(("head", "crew"), (1, workers), templates(parent), strict=True)
    return [
        (
            f"{name}-{role}",
            {"spec": {"parallelism": pods, "completions": pods, "template": template}},
        )
        for role, pods, template in roles
    ]


def state(jobs: list[Object]) -> str:
    """Return what KubeRay calls a cluster of these Jobs."""
    if not jobs:
        return "suspended"
    return "ready" if len(jobs) == ROLES and count(jobs, "ready") == pods_asked(jobs) else ""


def cluster_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the status of a RayCluster."""
    del parent
    return {"state": state(jobs), "availableWorkerReplicas": int(bool(jobs))}


def job_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the status of a RayJob."""
    del parent
    done = len(jobs) == ROLES and all(has_condition(job, "Complete") for job in jobs)
    if done:
        return {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}
    text = "Running" if jobs else "Suspended"
    return {"jobDeploymentStatus": text, "rayClusterStatus": {"state": state(jobs)}}


def service_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the status of a RayService."""
    del parent
    ready = [condition("Ready")] if state(jobs) == "ready" else []
    return {
        "activeServiceStatus": {"rayClusterStatus": {"state": state(jobs)}},
        "conditions": ready,
    }


def is_done(obj: Object) -> bool:
    """Tell whether a RayJob finished."""
    return bool(obj.get("status", {}).get("jobDeploymentStatus") == "Complete")


ACTS = (
    Act(
        namespace="life-raycluster",
        framework="ray.io/raycluster",
        path="/apis/ray.io/v1/namespaces/{}/rayclusters",
        make=ray_cluster,
        templates=templates,
        finished=None,
        active=lambda obj: obj.get("status", {}).get("state") == "ready",
        crd=RAY_CLUSTER,
        children=children,
        status=cluster_status,
        slow=True,
    ),
    Act(
        namespace="life-rayjob",
        framework="ray.io/rayjob",
        path="/apis/ray.io/v1/namespaces/{}/rayjobs",
        make=ray_job,
        templates=templates,
        finished=is_done,
        active=lambda obj: (
            obj.get("status", {}).get("rayClusterStatus", {}).get("state") == "ready"
        ),
        crd=RAY_JOB,
        children=children,
        status=job_status,
        slow=True,
    ),
    Act(
        namespace="life-rayservice",
        framework="ray.io/rayservice",
        path="/apis/ray.io/v1/namespaces/{}/rayservices",
        make=ray_service,
        templates=templates,
        finished=None,
        active=lambda obj: has_condition(obj, "Ready"),
        suspend="spec.rayClusterConfig.suspend",
        crd=RAY_SERVICE,
        children=children,
        status=service_status,
        slow=True,
    ),
)
