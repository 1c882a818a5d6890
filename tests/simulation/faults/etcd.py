"""An API server whose etcd is brought back from a backup, as an operator does it.

Objects, versions and the counter of versions are as they were; no client's watch goes on. A client
that reads the state sees one step from what was to what is again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from apiserver.resources import CRDS
from apiserver.schema.crds import resources_of
from apiserver.state import Change, State
from tests.simulation.cluster import Cluster

Object = dict[str, Any]
Place = tuple[str, str, str]  # resource, namespace, name
RESTORED = "etcd"
"""The name of the client that brings a backup back."""


class Backup(NamedTuple):
    """Everything that etcd held at a moment; objects are values."""

    revision: int
    objects: dict[Place, Object]
    bodies: dict[str, bytes]


def backup(cluster: Cluster) -> Backup:
    """Return what etcd holds now."""
    state = cluster.api.registry.state
    objects = dict(_all(state))
    return Backup(state.revision, objects, dict(state._bodies))  # noqa: SLF001 - etcd's own data


def restore(cluster: Cluster, kept: Backup) -> None:
    """Bring a backup back; watches deliver each object that differs."""
    state, before = cluster.api.registry.state, dict(_all(cluster.api.registry.state))
    state.revision = kept.revision
    state._histories.clear()  # noqa: SLF001 - etcd's own data
    cluster.api.compact()
    cluster.acting = RESTORED
    for place in dict.fromkeys([*before, *kept.objects]):
        was, is_again = before.get(place), kept.objects.get(place)
        if was is not is_again:
            _put(state, place, is_again)
            if place[0] == CRDS.key:
                _serve(cluster, place[2], is_again)
            change = Change(kept.revision, place[0], was, is_again, b"")
            for listener in state.listeners:
                listener(change)
    state._bodies = dict(kept.bodies)  # noqa: SLF001 - etcd's own data
    cluster.acting = ""


def _serve(cluster: Cluster, name: str, definition: Object | None) -> None:
    """Serve what a definition says, as a server does that starts on what etcd holds."""
    catalog = cluster.api.registry.catalog
    if definition is None:
        catalog.drop(name)
    else:
        catalog.put(resources_of(definition))


def _put(state: State, place: Place, obj: Object | None) -> None:
    key, namespace, name = place
    there = state._objects.setdefault(key, {}).setdefault(namespace, {})  # noqa: SLF001 - etcd's own data
    if obj is None:
        del there[name]
    else:
        there[name] = obj


def _all(state: State) -> list[tuple[Place, Object]]:
    return [
        ((key, namespace, name), fields)
        for key, spaces in state._objects.items()  # noqa: SLF001 - etcd's own data
        for namespace, names in spaces.items()
        for name, fields in names.items()
    ]
