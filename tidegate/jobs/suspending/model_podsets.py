"""The podsets of an object as the core computes with them."""

from __future__ import annotations

from tidegate.core.quota.requests import invalid_quantity
from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import Place, charged_at
from tidegate.jobs.kind import Object
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.topologies import check_slices
from tidegate.kinds.pods import PodTemplateSpec
from tidegate.kinds.podsets import pod_set
from tidegate.model.podset import PodSet

PODSETS_MAX = 18
"""Source: behaviour.md 15.3."""
_TOTAL_MAX = 2**31


def model_podsets(obj: Object, places: tuple[Place, ...]) -> tuple[PodSet, ...]:
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


def _podset(obj: Object, place: Place) -> PodSet:
    try:
        template = read(charged_at(obj, place), PodTemplateSpec)
    except UndecodableError as error:
        raise UndecodableError(f"podset {place.name}: {error}") from error
    if not template.spec.containers:
        raise UndecodableError(f"podset {place.name}: its pods have no containers.")
    podset = pod_set(template, name=place.name, count=place.count, min_count=place.min_count)
    unreadable = invalid_quantity(podset)
    if unreadable:
        raise UndecodableError(f"podset {place.name}: {unreadable!r} is not a quantity.")
    return podset
