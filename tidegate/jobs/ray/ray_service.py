"""RayService: a Ray cluster that serves, suspended with it; it never finishes.

Podsets: those of its cluster

Source: behaviour.md 16, RayService.
"""

from __future__ import annotations

from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.ray.cluster_pods import cluster_podsets, is_elastic_cluster
from tidegate.jobs.ray.growing import at_current_size, cluster_path, pod_count, size_version
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import text_at, true_condition
from tidegate.kinds.kueue_api.workloads.topologies import check_groups
from tidegate.kinds.policies.frameworks import framework

_CLUSTER = ("spec", "rayClusterConfig")
_SUSPEND = (*_CLUSTER, "suspend")
_SERVICES = [("status", service) for service in ("activeServiceStatus", "pendingServiceStatus")]
"""Of the cluster that serves, and of one that is to take over."""


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets of a RayService."""
    return at_current_size(obj, cluster_podsets(obj, _CLUSTER, elastic=is_elastic_cluster(obj)))


def status_of(obj: Object) -> JobStatus:
    """Return how a RayService stands: it has pods while one of its clusters has."""
    ready = true_condition(obj, ("Ready",)) is not None
    running = [
        (*service, "rayClusterStatus")
        for service in _SERVICES
        if text_at(obj, (*service, "rayClusterStatus", "state")) not in ("", "suspended")
    ]
    active = int(ready or bool(running))
    if is_elastic_cluster(obj) and running:
        active = sum(pod_count(obj, status, others=1) for status in running)
    return JobStatus(active=active, ready=ready)


def referred_paths(obj: Object) -> tuple[str, ...]:
    """Return the path of the cluster of an elastic RayService: that which serves, if one does."""
    return cluster_path(obj, _SUSPEND, [(*service, "rayClusterName") for service in _SERVICES])


KIND = suspended_kind(
    framework("ray.io/rayservice"),
    Layout(
        podset_locations=podset_locations,
        status_of=status_of,
        elastic=True,
        size_version=size_version,
        check=check_groups,
    ),
    referred_paths=referred_paths,
    waits_for_referred=False,
)
