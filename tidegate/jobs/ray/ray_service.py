"""RayService: a Ray cluster that serves, suspended with it; it never finishes.

Podsets: those of its cluster

Source: behaviour.md 16, RayService.
"""

from __future__ import annotations

from tidegate.jobs.job_status import JobStatus, Layout, Place
from tidegate.jobs.kind import Object
from tidegate.jobs.ray.cluster_pods import cluster_places, grows
from tidegate.jobs.ray.growing import as_they_are, cluster_path, pods, sized
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import holding, text_at
from tidegate.kinds.kueue_api.workloads.topologies import check_groups
from tidegate.kinds.policies.frameworks import framework

_CLUSTER = ("spec", "rayClusterConfig")
_SUSPEND = (*_CLUSTER, "suspend")
_SERVICES = [("status", service) for service in ("activeServiceStatus", "pendingServiceStatus")]
"""Of the cluster that serves, and of one that is to take over."""


def places(obj: Object) -> tuple[Place, ...]:
    """Return the podsets of a RayService."""
    return as_they_are(obj, cluster_places(obj, _CLUSTER, elastic=grows(obj)))


def status_of(obj: Object) -> JobStatus:
    """Return how a RayService stands: it has pods while one of its clusters has."""
    ready = holding(obj, ("Ready",)) is not None
    running = [
        (*service, "rayClusterStatus")
        for service in _SERVICES
        if text_at(obj, (*service, "rayClusterStatus", "state")) not in ("", "suspended")
    ]
    active = int(ready or bool(running))
    if grows(obj) and running:
        active = sum(pods(obj, status, others=1) for status in running)
    return JobStatus(active=active, ready=ready)


def refers(obj: Object) -> tuple[str, ...]:
    """Return the path of the cluster of an elastic RayService: that which serves, if one does."""
    return cluster_path(obj, _SUSPEND, [(*service, "rayClusterName") for service in _SERVICES])


KIND = suspended_kind(
    framework("ray.io/rayservice"),
    Layout(places=places, status_of=status_of, elastic=True, sized=sized, check=check_groups),
    refers=refers,
    needs_referred=False,
)
