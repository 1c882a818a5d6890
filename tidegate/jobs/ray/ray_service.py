"""RayService: a Ray cluster that serves, suspended with it; it never finishes.

Source: behaviour.md 16, RayService.
"""

from __future__ import annotations

from tidegate.jobs.conditions import holding
from tidegate.jobs.job_status import JobStatus, Layout, Place
from tidegate.jobs.kind import Object
from tidegate.jobs.managed_by import ManagedBy
from tidegate.jobs.ray.cluster_pods import cluster_places, grows
from tidegate.jobs.ray.ray_cluster import CONTROLLER
from tidegate.jobs.suspending.suspended_kind import Identity, suspended_kind
from tidegate.jobs.templates.paths import text_at

_CLUSTER = ("spec", "rayClusterConfig")
_STATES = [
    ("status", service, "rayClusterStatus", "state")
    for service in ("activeServiceStatus", "pendingServiceStatus")
]
"""Of the cluster that serves, and of one that is to take over."""


def places(obj: Object) -> tuple[Place, ...]:
    """Return the podsets of a RayService."""
    return cluster_places(obj, _CLUSTER, elastic=grows(obj))


def standing(obj: Object) -> JobStatus:
    """Return how a RayService stands: it has pods while one of its clusters has."""
    ready = holding(obj, ("Ready",)) is not None
    running = any(text_at(obj, path) not in ("", "suspended") for path in _STATES)
    return JobStatus(active=int(ready or running), ready=ready)


KIND = suspended_kind(
    Identity(
        name="ray.io/rayservice",
        group="ray.io",
        version="v1",
        kind="RayService",
        plural="rayservices",
        managed_by=ManagedBy(path=("spec", "managedBy"), own=CONTROLLER),
    ),
    Layout(suspend=(*_CLUSTER, "suspend"), places=places, standing=standing),
)
