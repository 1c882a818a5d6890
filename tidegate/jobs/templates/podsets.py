"""The podsets of a job: as its Workload object shows them, and as the core computes with them.

Source: behaviour.md 15.3.
"""

from __future__ import annotations

from typing import Any

from tidegate.core.quota.requests import invalid_quantity
from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import PodSetLocation, charged_template
from tidegate.jobs.kind import Object
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex, check_slices, written_request
from tidegate.kinds.pods import PodTemplateSpec
from tidegate.kinds.podsets import pod_set
from tidegate.model.podset import PodSet

PODSETS_MAX = 18
"""Source: behaviour.md 15.3."""
_TOTAL_MAX = 2**31


def written_podset(
    name: str,
    count: int,
    template: Object,
    *,
    index: PodIndex | None = None,
    marks: Object | None = None,
) -> Object:
    """Return a podset of a Workload: the template as its owner wrote it, and its topologyRequest.

    An environment variable that a container names twice stands once, with its last value.
    ``marks`` are the annotations that ask for a topology, if not those of the template.
    """
    podset: Object = {"name": name, "count": count, "template": _with_distinct_env(template)}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    request = written_request(annotations if marks is None else marks, index)
    return podset | ({"topologyRequest": request} if request else {})


def with_min_count(podset: Object, min_count: int | None) -> Object:
    """Return a podset with the fewest pods that partial admission may grant, if it may."""
    return podset if min_count is None else {**podset, "minCount": min_count}


def _with_distinct_env(template: Object) -> Object:
    spec = template.get("spec") or {}
    changed = {
        field: [_with_distinct_variables(container) for container in spec[field]]
        for field in ("containers", "initContainers")
        if any("env" in container for container in spec.get(field) or ())
    }
    return {**template, "spec": {**spec, **changed}} if changed else template


def _with_distinct_variables(container: Object) -> Object:
    variables: Any = container.get("env")
    if not variables:
        return container
    if not isinstance(variables, list) or not all(
        isinstance(variable, dict) for variable in variables
    ):
        raise UndecodableError("containers.env: this is not a list of variables.")
    return {
        **container,
        "env": list({str(variable.get("name")): variable for variable in variables}.values()),
    }


def model_podsets(obj: Object, places: tuple[PodSetLocation, ...]) -> tuple[PodSet, ...]:
    """Return the podsets as the core computes with them.

    Raises:
        UndecodableError: there are none, or too many, or one cannot be read.
    """
    if not places:
        raise UndecodableError("It has no podsets, so there is nothing to run.")
    if len(places) > PODSETS_MAX:
        raise UndecodableError(f"It has {len(places)} podsets; {PODSETS_MAX} are the most.")
    if len({place.name for place in places}) < len(places):
        raise UndecodableError("Two of its podsets have the same name.")
    if sum(place.count for place in places) >= _TOTAL_MAX:
        raise UndecodableError("It asks for more pods than can be counted.")
    podsets = tuple(_podset(obj, place) for place in places)
    check_slices(podsets, obj["metadata"].get("annotations") or {})
    return podsets


def _podset(obj: Object, place: PodSetLocation) -> PodSet:
    try:
        template = read(charged_template(obj, place), PodTemplateSpec)
    except UndecodableError as error:
        raise UndecodableError(f"podset {place.name}: {error}") from error
    if not template.spec.containers:
        raise UndecodableError(f"podset {place.name}: its pods have no containers.")
    podset = pod_set(template, name=place.name, count=place.count, min_count=place.min_count)
    unreadable = invalid_quantity(podset)
    if unreadable:
        raise UndecodableError(f"podset {place.name}: {unreadable!r} is not a quantity.")
    return podset
