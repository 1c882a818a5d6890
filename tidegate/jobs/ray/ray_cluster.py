"""RayCluster: suspended by ``spec.suspend``; it serves and never finishes.

Podsets: ``head``: 1 pod, with the containers and requests that KubeRay adds; one a worker group,
under its name: replicas times numOfHosts

Source: behaviour.md 16, RayCluster.
"""

from __future__ import annotations

from tidegate.jobs.job_status import JobStatus, Layout, Place
from tidegate.jobs.kind import Object
from tidegate.jobs.ray.cluster_pods import cluster_places, grows
from tidegate.jobs.suspending.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import number_at, object_at, text_at
from tidegate.kinds.kueue_api.workloads.topologies import check_groups
from tidegate.kinds.policies.frameworks import framework


def places(obj: Object) -> tuple[Place, ...]:
    """Return the podsets of a RayCluster."""
    return cluster_places(obj, ("spec",), elastic=grows(obj))


def status_of(obj: Object) -> JobStatus:
    """Return how a RayCluster stands.

    Its state is empty while pods are being created, and suspended only after the last is gone.
    """
    state = text_at(obj, ("status", "state"))
    touched = any(object_at(obj, ("status",)).values())
    workers = number_at(obj, ("status", "availableWorkerReplicas"))
    active = 1 + workers if touched and state != "suspended" else 0
    return JobStatus(active=active, ready=state == "ready")


KIND = suspended_kind(
    framework("ray.io/raycluster"),
    Layout(places=places, status_of=status_of, elastic=True, check=check_groups),
)
