"""RayCluster: suspended by ``spec.suspend``; it serves and never finishes.

Podsets: ``head``: 1 pod, with the containers and requests that KubeRay adds; one a worker group,
under its name: replicas, or minReplicas if that is more, times numOfHosts

Source: behaviour.md 16, RayCluster.
"""

from __future__ import annotations

from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.ray.cluster_pods import cluster_podsets, is_elastic_cluster
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import number_at, object_at, text_at, value_at
from tidegate.kinds.kueue_api.workloads.topologies import check_groups
from tidegate.kinds.policies.frameworks import framework
from tidegate.model.multikueue import CONTROLLER

_AUTOSCALING = "enableInTreeAutoscaling"


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets of a RayCluster.

    Raises:
        UndecodableError: it cannot be read, or grows by itself on a worker cluster: the size of
            what is sent is decided here (multikueue.md 3.2).
    """
    by_multikueue = text_at(obj, ("spec", "managedBy")) == CONTROLLER
    if by_multikueue and is_elastic_cluster(obj) and value_at(obj, ("spec", _AUTOSCALING)) is True:
        raise UndecodableError(
            f"spec.{_AUTOSCALING}: a cluster that MultiKueue sends does not grow by itself."
        )
    return cluster_podsets(obj, ("spec",), elastic=is_elastic_cluster(obj))


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
    Layout(
        podset_locations=podset_locations, status_of=status_of, elastic=True, check=check_groups
    ),
)
