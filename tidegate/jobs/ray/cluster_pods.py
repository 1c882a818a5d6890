"""The pods of a Ray cluster: a podset for its head and one for each worker group.

KubeRay adds containers to the head and fills in what it needs; that is charged too, and never
written.

Source: behaviour.md 16, RayCluster.
"""

from __future__ import annotations

from typing import Any

from tidegate.core.quota.requests import parse_nano
from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import is_elastic
from tidegate.jobs.job_status import PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.templates.paths import (
    Path,
    list_at,
    number_at,
    object_at,
    path_text,
    text_at,
    value_at,
)
from tidegate.kinds.podsets import quantity_text

HEAD = "head"
FAULT_TOLERANT = "ray.io/ft-enabled"
"""Annotation of a cluster that keeps its state in Redis."""
_AUTOSCALER: Object = {
    "requests": {"cpu": "500m", "memory": "512Mi"},
    "limits": {"cpu": "500m", "memory": "512Mi"},
}
_REDIS_CLEANUP = {"cpu": "200m", "memory": "256Mi"}
"""The least that the head asks for where a job empties Redis in its place at the end."""


def cluster_podsets(
    obj: Object, root: Path, *, elastic: bool = False
) -> tuple[PodSetLocation, ...]:
    """Return the podsets of the cluster whose spec is at ``root``, the head first.

    Raises:
        UndecodableError: it cannot be read, or it grows by itself and its job is not elastic.
    """
    if value_at(obj, (*root, "enableInTreeAutoscaling")) is True and not elastic:
        raise UndecodableError(
            f"{path_text((*root, 'enableInTreeAutoscaling'))}: a queued cluster grows by itself "
            "only as an elastic job."
        )
    template = (*root, "headGroupSpec", "template")
    head = PodSetLocation(name=HEAD, count=1, template=template, built=_head(obj, root, template))
    groups = list_at(obj, (*root, "workerGroupSpecs"))
    return (head, *(_group(obj, (*root, "workerGroupSpecs", at)) for at in range(len(groups))))


def is_elastic_cluster(obj: Object) -> bool:
    """Return whether a cluster may grow and shrink while it runs."""
    return is_elastic(value_at(obj, ("metadata", "annotations")) or {})


def with_container(template: Object, container: Object) -> Object:
    """Return a pod template with one container more."""
    spec = template["spec"]
    return {**template, "spec": {**spec, "containers": [*spec["containers"], container]}}


def _group(obj: Object, path: Path) -> PodSetLocation:
    name = text_at(obj, (*path, "groupName")).lower()
    if name in ("", HEAD):
        raise UndecodableError(
            f"{path_text((*path, 'groupName'))}: {name!r} names no group of workers."
        )
    hosts = max(number_at(obj, (*path, "numOfHosts"), 1), 1)
    # KubeRay never runs fewer than minReplicas, whatever replicas says.
    replicas = max(number_at(obj, (*path, "replicas"), 1), number_at(obj, (*path, "minReplicas")))
    return PodSetLocation(name=name, count=replicas * hosts, template=(*path, "template"))


def _head(obj: Object, root: Path, path: Path) -> Object | None:
    """Return the head's template with what KubeRay adds; None where that is nothing."""
    template = value_at(obj, path)
    if not isinstance(template, dict) or not list_at(template, ("spec", "containers")):
        return None  # refused where it is read
    built = template
    if _keeps_state(obj, root):
        built = _raised(built)
    if value_at(obj, (*root, "enableInTreeAutoscaling")) is True:
        requests = value_at(obj, (*root, "autoscalerOptions", "resources")) or _AUTOSCALER
        built = with_container(built, {"name": "autoscaler", "resources": requests})
    return None if built is template else built


def _keeps_state(obj: Object, root: Path) -> bool:
    annotations = value_at(obj, ("metadata", "annotations")) or {}
    redis = value_at(obj, (*root, "gcsFaultToleranceOptions"))
    return redis is not None or annotations.get(FAULT_TOLERANT) == "true"


def _raised(template: Object) -> Object:
    """Return a head's template that asks for at least what its cleaning up takes."""
    first, *others = template["spec"]["containers"]
    requests = object_at(first, ("resources", "requests"))
    raised = {
        name: least for name, least in _REDIS_CLEANUP.items() if _is_less(requests.get(name), least)
    }
    resources = {**object_at(first, ("resources",)), "requests": {**requests, **raised}}
    containers = [{**first, "resources": resources}, *others]
    return {**template, "spec": {**template["spec"], "containers": containers}}


def _is_less(quantity: Any, least: str) -> bool:  # noqa: ANN401 - any JSON
    given_quantity = isinstance(quantity, str | int | float)
    return not given_quantity or parse_nano(quantity_text(quantity)) < parse_nano(least)
