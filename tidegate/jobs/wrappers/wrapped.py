"""The podsets of an object that another one will create, where its kind is known to have pods."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tidegate.jobs.batch import jobset
from tidegate.jobs.batch.numbers import INDEX
from tidegate.jobs.job_status import PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.ray.cluster_pods import cluster_podsets
from tidegate.jobs.templates.paths import number_at, value_at
from tidegate.jobs.training import pytorch_job

_TEMPLATE = ("spec", "template")


def inferred_podsets(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets of an object, none of a kind that is not known; errors as of its kind.

    Their templates stand in the object itself, and are given as what is charged.
    """
    return tuple(_built(obj, place) for place in _podsets_of(obj))


def template_sizes(obj: Object) -> dict[int, int]:
    """Return the number of pods of each template, by its ``id``; errors as ``inferred_podsets``."""
    return {
        id(value_at(obj, place.template) if place.template else obj): place.count
        for place in _podsets_of(obj)
    }


def _podsets_of(obj: Object) -> tuple[PodSetLocation, ...]:
    group, _, _ = str(obj.get("apiVersion", "")).rpartition("/")
    kind = _KINDS.get((group, str(obj.get("kind", ""))))
    return () if kind is None else kind(obj)


def _built(obj: Object, place: PodSetLocation) -> PodSetLocation:
    built = place.built if place.built is not None else value_at(obj, place.template or ())
    return replace(place, built=built, template=None)


def as_template(template: Object | None) -> Object | None:
    """Return of a pod, or of a pod template, what a template has; None of what is neither."""
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return None
    meta = template.get("metadata") or {}
    meta_kept = {name: meta[name] for name in ("labels", "annotations") if name in meta}
    return {"metadata": meta_kept, "spec": template["spec"]}


def _pod(obj: Object) -> tuple[PodSetLocation, ...]:
    return (PodSetLocation(name="", count=1, built=as_template(obj)),)


def _replicas(obj: Object) -> tuple[PodSetLocation, ...]:
    return (
        PodSetLocation(name="", count=number_at(obj, ("spec", "replicas"), 1), template=_TEMPLATE),
    )


def _job(obj: Object) -> tuple[PodSetLocation, ...]:
    pods = number_at(obj, ("spec", "parallelism"), 1)
    count = min(pods, number_at(obj, ("spec", "completions"), pods))
    return (PodSetLocation(name="", count=count, template=_TEMPLATE, index=INDEX),)


def _ray_cluster(obj: Object) -> tuple[PodSetLocation, ...]:
    return cluster_podsets(obj, ("spec",))


def _ray_job(obj: Object) -> tuple[PodSetLocation, ...]:
    return cluster_podsets(obj, ("spec", "rayClusterSpec"))


_KINDS: dict[tuple[str, str], Callable[[Object], tuple[PodSetLocation, ...]]] = {
    ("", "Pod"): _pod,
    ("apps", "Deployment"): _replicas,
    ("apps", "StatefulSet"): _replicas,
    ("batch", "Job"): _job,
    ("jobset.x-k8s.io", "JobSet"): jobset.podset_locations,
    ("kubeflow.org", "PyTorchJob"): pytorch_job.ROLES.podset_locations,
    ("ray.io", "RayCluster"): _ray_cluster,
    ("ray.io", "RayJob"): _ray_job,
}
"""By group and kind."""
