"""Elastic Ray jobs: the RayCluster that KubeRay created holds the current number of workers.

Ray's autoscaler changes the replicas of a RayCluster. Where that is the job itself nothing else is
looked at; a RayJob and a RayService leave their own spec as it is, so their cluster is read beside
them.

Source: behaviour.md 13 and 16, RayJob and RayService.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import is_elastic
from tidegate.jobs.job_status import PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.ray.cluster_pods import cluster_podsets
from tidegate.jobs.templates.paths import Path, list_at, number_at, text_at, value_at
from tidegate.kinds.times import micros
from tidegate.model.texts import is_name

_GROUP_VERSION = "/apis/ray.io/v1"
_CHANGES_MAX = 1_000_000
"""More changes than a cluster's spec sees within a second of another cluster's creation."""
_SECOND_US = 1_000_000


def cluster_path(obj: Object, suspend: Path, named: Iterable[Path]) -> tuple[str, ...]:
    """Return the path of the RayCluster of an elastic job that may run; empty: it has none.

    ``named`` is where its status may name the cluster.
    """
    if not _is_elastic_job(obj) or value_at(obj, suspend) is True:
        return ()
    return named_path(obj, named)


def named_path(obj: Object, named: Iterable[Path]) -> tuple[str, ...]:
    """Return the path of the RayCluster that a job's status names; empty: it names none."""
    name = next((text for path in named if (text := text_at(obj, path))), "")
    if not is_name(name):
        return ()
    namespace = text_at(obj, ("metadata", "namespace"))
    return (f"{_GROUP_VERSION}/namespaces/{namespace}/rayclusters/{name}",)


def at_current_size(obj: Object, places: tuple[PodSetLocation, ...]) -> tuple[PodSetLocation, ...]:
    """Return the podsets of a job with as many workers as its cluster asks for now.

    Raises:
        UndecodableError: the cluster cannot be read.
    """
    cluster = _cluster(obj)
    if cluster is None:
        return places
    counts = {
        cluster_place.name: cluster_place.count
        for cluster_place in cluster_podsets(cluster, ("spec",), elastic=True)
    }
    return tuple(replace(place, count=counts.get(place.name, place.count)) for place in places)


def size_version(obj: Object) -> int:
    """Return the version of the cluster that stands beside an elastic job; 0: none does.

    It rises with each change of the cluster, and with each cluster that follows another: one made
    later counts more than any change of one before.
    """
    cluster = _cluster(obj)
    if cluster is None:
        return 0
    age_s = (_created_us(cluster) - _created_us(obj)) // _SECOND_US
    changes = number_at(cluster, ("metadata", "generation"))
    return (max(age_s, 0) + 1) * _CHANGES_MAX + changes


def pod_count(obj: Object, status: Path, others: int) -> int:
    """Return how many pods an elastic job that runs has, ``others`` besides its workers."""
    return others + number_at(obj, (*status, "availableWorkerReplicas"))


def _cluster(obj: Object) -> Object | None:
    """Return the cluster that stands beside an elastic job; None: none does."""
    return next(iter(list_at(obj, ("beside",))), None) if _is_elastic_job(obj) else None


def _is_elastic_job(obj: Object) -> bool:
    return is_elastic(value_at(obj, ("metadata", "annotations")) or {})


def _created_us(obj: Object) -> int:
    try:
        return micros(text_at(obj, ("metadata", "creationTimestamp")))
    except UndecodableError:
        return 0
