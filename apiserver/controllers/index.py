"""An index of dependents by owner and of pods by node, updated by every change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.resources import PODS
from apiserver.state import Change, State

Object = dict[str, Any]
Place = tuple[str, str, str]  # resource key, namespace, name


class Index:
    """Objects by uid, and uids by owner and by node; each in the order of arrival."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._places = dict[str, Place]()
        self._dependents = dict[str, dict[str, None]]()  # owner's uid -> uids
        self._on_node = dict[str, dict[str, None]]()  # node's name -> pods' uids

    def update(self, change: Change) -> None:
        """Take one change in."""
        if change.before is not None:
            self._remove(change.resource, change.before)
        if change.after is not None:
            self._add(change.resource, change.after)

    def exists(self, uid: str) -> bool:
        """Return whether an object of this uid exists."""
        return uid in self._places

    def location_of(self, uid: str) -> Place | None:
        """Return where an object of this uid is, or None."""
        return self._places.get(uid)

    def dependents(self, uid: str) -> Iterator[tuple[str, Object]]:
        """Yield the resource and the object of everything that names an owner."""
        yield from self._existing_objects(self._dependents.get(uid, {}))

    def pods_of(self, uid: str) -> list[Object]:
        """Return the pods that name an owner."""
        return [obj for key, obj in self.dependents(uid) if key == PODS.key]

    def pods_on(self, node: str) -> list[Object]:
        """Return the pods that are bound to a node."""
        return [obj for _, obj in self._existing_objects(self._on_node.get(node, {}))]

    def _existing_objects(self, uids: dict[str, None]) -> Iterator[tuple[str, Object]]:
        for uid in list(uids):
            if place := self._places.get(uid):
                obj = self._state.get(*place)
                assert obj is not None
                yield place[0], obj

    def _add(self, key: str, obj: Object) -> None:
        metadata = obj["metadata"]
        uid = metadata["uid"]
        self._places[uid] = (key, metadata.get("namespace", ""), metadata["name"])
        for owner in metadata.get("ownerReferences") or ():
            self._dependents.setdefault(owner["uid"], {})[uid] = None
        if key == PODS.key and (node := obj["spec"].get("nodeName")):
            self._on_node.setdefault(node, {})[uid] = None

    def _remove(self, key: str, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        self._places.pop(uid, None)
        for owner in obj["metadata"].get("ownerReferences") or ():
            _discard(self._dependents, owner["uid"], uid)
        if key == PODS.key and (node := obj["spec"].get("nodeName")):
            _discard(self._on_node, node, uid)


def _discard(buckets: dict[str, dict[str, None]], bucket: str, uid: str) -> None:
    buckets.get(bucket, {}).pop(uid, None)
    if bucket in buckets and not buckets[bucket]:
        del buckets[bucket]
