"""The fields of a kind: its podsets, the field that suspends it, and its state.

A kind that is suspended by a field needs nothing but this; ``tidegate.jobs.suspended`` does the
rest. Objects are looked at as JSON, so that no field of theirs is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Object
from tidegate.jobs.templates.paths import (
    Path,
    missing_parents,
    path_text,
    value_at,
    with_value,
    without_empty,
)
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex
from tidegate.kinds.meta import ObjectMeta
from tidegate.model.podset import PodSet

_TEMPLATE: dict[str, Path] = {
    "labels": ("metadata", "labels"),
    "annotations": ("metadata", "annotations"),
}
"""Where a part belongs in a template; every other part is a field of its spec."""
INJECTED_PARTS = ("labels", "annotations", "nodeSelector", "tolerations", "schedulingGates")


class UntypedObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a kind that has no typed module; read as plain JSON."""

    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}
    beside: tuple[
        dict[str, Any], ...
    ] = ()  # the objects that it refers to; see ``JobKind.referred_paths``

    def as_json(self) -> Object:
        """Return what paths lead into."""
        metadata = self.metadata
        meta = {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "annotations": metadata.annotations,
            "creationTimestamp": metadata.creation_timestamp,
        }
        beside = list(self.beside)
        return {"metadata": meta, "spec": self.spec, "status": self.status, "beside": beside}


class PodSetLocation(msgspec.Struct, frozen=True, kw_only=True):
    """One podset of an object, and where it stands."""

    name: str
    count: int
    min_count: int | None = None
    template: Path | None = None  # of a pod template; None: its parts stand apart
    parts: dict[str, Path] = {}  # by the name that a pod's spec gives them, e.g. "containers"
    built: Object | None = None  # the template of its pods, where they get more than stands there
    count_path: Path | None = None  # what a partial admission lowers; None: it cannot
    index: PodIndex | None = None  # how its pods are numbered

    @property
    def is_written(self) -> bool:
        """Return whether a start changes the template, or its parts, where they stand."""
        return self.template is not None or bool(self.parts)


PodSetLocations: TypeAlias = Callable[[Object], tuple[PodSetLocation, ...]]
Inject: TypeAlias = Callable[[Object, Mapping[str, PodSetStart]], Object]


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a job, whatever its kind."""

    finished: str = ""  # Succeeded or Failed
    message: str = ""
    active: int = 0  # pods that run or may run
    ready: bool = False  # all of them
    reclaimable: dict[str, int] = {}
    gates: tuple[str, ...] = ()  # why it may not be queued now


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a kind that a field suspends."""

    podset_locations: PodSetLocations  # raises UndecodableError
    status_of: Callable[[Object], JobStatus]  # raises UndecodableError
    priority_class: Callable[[Object], str] = lambda _: ""
    """The kind's own choice; without one, the first podset that names a class decides."""
    writes_suspended: bool = False  # it may be unsuspended only in an update of its own
    elastic: bool = False  # its objects may grow and shrink while they run
    size_version: Callable[[Object], int] = lambda _: 0
    """Return the version of the companion object that holds the pod counts; 0: none."""
    check: Callable[[tuple[PodSet, ...]], None] = lambda _: None
    """Raise UndecodableError if the podsets do not fit together."""
    inject: Inject | None = None
    """Write what a start gives to each podset; None: it is put into the templates themselves."""
    overwritten_paths: Callable[[Object], tuple[Path, ...]] = lambda _: ()
    """Return the fields that ``inject`` may change; a stop makes them what they were."""
    former_values: Callable[[Object], tuple[tuple[Path, Any], ...]] = lambda _: ()
    """Return those fields' former values, as far as they follow without the start's note."""


def charged_template(obj: Object, place: PodSetLocation) -> Object:
    """Return the pod template as its pods are charged; errors as in ``template_at``."""
    return template_at(obj, place) if place.built is None else place.built


def template_at(obj: Object, place: PodSetLocation) -> Object:
    """Return the pod template of a podset, put together where its parts stand apart.

    Raises:
        UndecodableError: there is none.
    """
    if place.template is not None:
        section = value_at(obj, place.template)
        if section is None and place.built is not None:
            return place.built
        if not isinstance(section, dict):
            raise UndecodableError(f"{path_text(place.template)}: there is no pod template.")
        return section
    template: Object = {"spec": {}}
    for part, path in place.parts.items():
        value = value_at(obj, path)
        if value is not None:
            template = with_value(template, _TEMPLATE.get(part, ("spec", part)), value)
    return template


def with_template(
    obj: Object, place: PodSetLocation, template: Object
) -> tuple[Object, tuple[str, ...]]:
    """Return a copy of the object with this template, and the objects that had to be made for it.

    Raises:
        UndecodableError: a part of it has no place in an object of this kind.
    """
    if place.template is not None:
        changed: Object = with_value(obj, place.template, template)
        return changed, ()
    created: tuple[str, ...] = ()
    for part in INJECTED_PARTS:
        value = value_at(template, _TEMPLATE.get(part, ("spec", part)))
        path = place.parts.get(part)
        if path is None and value is not None:
            raise UndecodableError(f"podset {place.name}: its kind has no place for {part}.")
        if path is None or value == value_at(obj, path):
            continue
        created += tuple(way for way in missing_parents(obj, path) if way not in created)
        obj = with_value(obj, path, value)
    return obj, created


def without_created(obj: Object, created: tuple[str, ...]) -> Object:
    """Return a copy without what ``with_template`` had to make, as far as it is empty again."""
    pruned: Object = without_empty(obj, created)
    return pruned
