"""The garbage collector: dependents of deleted owners, terminating namespaces and CRDs."""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver.controllers.index import Index
from apiserver.resources import CRDS, NAMESPACES, Resource
from apiserver.schema.crds import CLEANUP
from apiserver.writes.deleting import FOREGROUND, ORPHAN, DeleteOptions, Preconditions, delete
from apiserver.writes.registry import Registry

Object = dict[str, Any]


def sync_owner(registry: Registry, index: Index, uid: str) -> None:
    """Do what an owner's end asks of its dependents: delete them, or let them go."""
    place = index.location_of(uid)
    if place is None:
        for key, obj in list(index.dependents(uid)):
            _collect_dependent(registry, index, key, obj)
        return
    owner = registry.state.get(*place)
    assert owner is not None
    finalizers = owner["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        for key, obj in list(index.dependents(uid)):
            _remove_owner_reference(registry, key, obj, uid)
        _remove_finalizer(registry, place[0], owner, ORPHAN)
    elif FOREGROUND in finalizers:
        dependents = list(index.dependents(uid))
        for key, obj in dependents:
            _delete(registry, key, obj, "Foreground")
        if not any(_blocks_owner_deletion(obj, uid) for _, obj in index.dependents(uid)):
            _remove_finalizer(registry, place[0], owner, FOREGROUND)


def sync_namespace(registry: Registry, name: str) -> None:
    """Empty a namespace that ends, and let it go once nothing is left in it."""
    namespace = registry.state.get(NAMESPACES.key, "", name)
    if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
        return
    remaining = False
    for resource in list(registry.catalog.stored()):
        if resource.namespaced:
            for obj in list(registry.state.items(resource.key, name)):
                _delete(registry, resource.key, obj, "Background")
            remaining = remaining or any(registry.state.items(resource.key, name))
    if not remaining:
        freed: Object = msgspec.json.decode(registry.state.body(namespace))
        freed["spec"]["finalizers"] = []
        registry.store_or_remove(NAMESPACES, freed)


def sync_definition(registry: Registry, name: str) -> None:
    """Delete every object of a CRD that ends, and let it go once none is left."""
    crd = registry.state.get(CRDS.key, "", name)
    if crd is None or "deletionTimestamp" not in crd["metadata"]:
        return
    for obj in list(registry.state.items(name)):
        _delete(registry, name, obj, "Background")
    if not any(registry.state.items(name)):
        _remove_finalizer(registry, CRDS.key, crd, CLEANUP)


def _collect_dependent(registry: Registry, index: Index, key: str, obj: Object) -> None:
    owners = obj["metadata"].get("ownerReferences") or ()
    alive = [owner["uid"] for owner in owners if index.exists(owner["uid"])]
    if not alive:
        _delete(registry, key, obj, "Background")
    else:
        for owner in owners:
            if owner["uid"] not in alive:
                _remove_owner_reference(registry, key, obj, owner["uid"])


def _remove_owner_reference(registry: Registry, key: str, obj: Object, uid: str) -> None:
    freed: Object = msgspec.json.decode(registry.state.body(obj))
    owners = freed["metadata"]["ownerReferences"]
    freed["metadata"]["ownerReferences"] = [owner for owner in owners if owner["uid"] != uid]
    if not freed["metadata"]["ownerReferences"]:
        del freed["metadata"]["ownerReferences"]
    registry.store_or_remove(_resource(registry, key), freed)


def _delete(registry: Registry, key: str, obj: Object, policy: str) -> None:
    metadata = obj["metadata"]
    where = metadata.get("namespace", ""), metadata["name"]
    current = registry.state.get(key, *where)
    if current is not None and "deletionTimestamp" not in current["metadata"]:
        precondition = Preconditions(uid=metadata["uid"])
        options = DeleteOptions(propagationPolicy=policy, preconditions=precondition)
        delete(registry, _resource(registry, key), *where, options)


def _remove_finalizer(registry: Registry, key: str, obj: Object, finalizer: str) -> None:
    freed: Object = msgspec.json.decode(registry.state.body(obj))
    if finalizer in (freed["metadata"].get("finalizers") or ()):
        freed["metadata"]["finalizers"].remove(finalizer)
        registry.store_or_remove(_resource(registry, key), freed)


def _blocks_owner_deletion(obj: Object, uid: str) -> bool:
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)


def _resource(registry: Registry, key: str) -> Resource:
    resource = registry.catalog.stored_as(key)
    assert resource is not None, f"{key} is in the state and not served"
    return resource
