"""Writes: each takes an object from a client to the state, or refuses and changes nothing.

The order is the real server's: defaults, the server's own metadata, admission, checks, storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec

from apiserver.kinds.rules import rules_of
from apiserver.kinds.small_shapes import shape_of
from apiserver.refusals import (
    Cause,
    already_exists,
    bad_request,
    conflict,
    invalid,
    invalid_value,
    modified,
    not_found,
)
from apiserver.requests.paging import ListPages
from apiserver.requests.patches import apply_patch
from apiserver.resources import CRDS, NAMESPACES, Catalog, Resource
from apiserver.schema.checking import check_value
from apiserver.schema.crds import established_status, resources_of
from apiserver.schema.pruning import drop_nulls, prune, set_defaults
from apiserver.state import State
from apiserver.writes import metadata as meta
from apiserver.writes.admission import apply_admission
from apiserver.writes.field_protection import refuse_protected_change
from tidegate.kinds.times import rfc3339

Object = dict[str, Any]
_PATH_NAMED = ("rbac.authorization.k8s.io",)  # groups whose names may hold a colon


class WriteOptions(msgspec.Struct, frozen=True):
    """The subresource of a write, its strictness, and whether it is a dry run."""

    dry: bool = False  # creations only: all is checked, nothing is stored
    status: bool = False  # the status only
    strict: bool = False  # a field that a CRD's schema does not know is refused, not dropped
    user: str = ""  # the client's user; empty: the server's own administrator


WHOLE, STATUS = WriteOptions(), WriteOptions(status=True)


class Registry:
    """The state, the catalog of resources, and what clock and chance the server was given."""

    def __init__(self, now_us: Callable[[], int], random: Random, history_max: int) -> None:
        self.now_us, self.random = now_us, random
        self.state, self.catalog, self.pages = State(history_max), Catalog(), ListPages()

    def now(self) -> str:
        """Return the time as objects write it."""
        return rfc3339(self.now_us())

    def find(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object as it is stored; it is not to be changed.

        Raises:
            RefusedError: 404, it is not there.
        """
        obj = self.state.get(resource.key, namespace, name)
        if obj is None:
            raise not_found(resource, name)
        return obj

    def create(
        self, resource: Resource, namespace: str, obj: Object, options: WriteOptions = WHOLE
    ) -> Object:
        """Create an object, which belongs to the state from now on, and return it.

        A dry run returns what would have been stored.

        Raises:
            RefusedError: 400, 403, 404, 409 or 422; nothing was changed.
        """
        metadata = self._set_identity(resource, namespace, obj)
        if metadata.pop("resourceVersion", ""):
            raise bad_request("resourceVersion should not be set on objects to be created")
        meta.generate_name(metadata, self.random)
        meta.set_server_fields(metadata, self.random, self.now_us())
        if resource.generation:
            metadata["generation"] = 1
        if resource.status and resource.custom:
            obj.pop("status", None)
        self._set_defaults(resource, obj, strict=options.strict)
        apply_admission(self.state, resource, obj)
        refuse_protected_change(self.state, resource, obj, None, options.user)
        rules_of(resource.key).prepare(obj)
        self._raise_if_invalid(resource, obj, self._causes(resource, obj))
        if self.state.get(resource.key, metadata.get("namespace", ""), metadata["name"]):
            raise already_exists(resource, metadata["name"])
        return _with_type_meta(resource, obj) if options.dry else self.store(resource, obj)

    def replace(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        obj: Object,
        options: WriteOptions = WHOLE,
    ) -> Object:
        """Put an object in the place of an older one, or its status only; return what is stored.

        Raises:
            RefusedError: 400, 404, 409 or 422; nothing was changed.
        """
        metadata = self._set_identity(resource, namespace, obj)
        if not metadata.get("name"):
            message = f"the name of the object ({name} based on URL) was undeterminable"
            raise bad_request(f"{message}: name must be provided")
        missing = self.state.get(resource.key, namespace, name) is None
        if missing and rules_of(resource.key).creates_on_put and not options.status:
            return self.create(resource, namespace, obj, options)
        old = self.find(resource, namespace, name)["metadata"]
        if metadata.get("uid", old["uid"]) != old["uid"]:
            why = f"UID in precondition: {metadata['uid']}, UID in object meta: {old['uid']}"
            raise conflict(resource, name, f"Precondition failed: {why}")
        if resource.custom and not metadata.get("resourceVersion"):
            cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(resource, name, [cause])
        return self._update(resource, namespace, name, obj, options)

    def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: tuple[str, bytes],
        options: WriteOptions = WHOLE,
    ) -> Object:
        """Patch an object by (content type, body) and return what is stored.

        Raises:
            RefusedError: 400, 404, 409, 415 or 422; nothing was changed.
        """
        old = self.find(resource, namespace, name)
        copy: Object = msgspec.json.decode(self.state.body(old))
        document = self.view(resource, copy)
        changed = apply_patch(document, *patch, custom=resource.custom)
        return self._update(resource, namespace, name, changed, options)

    def view(self, resource: Resource, obj: Object) -> Object:
        """Return a stored object in the version of a resource; only its ``apiVersion`` differs."""
        if obj["apiVersion"] == resource.api_version:
            return obj
        return obj | {"apiVersion": resource.api_version}

    def body(self, resource: Resource, obj: Object) -> bytes:
        """Return the bytes of a stored object in the version of a resource."""
        if obj["apiVersion"] == resource.api_version:
            return self.state.body(obj)
        return msgspec.json.encode(self.view(resource, obj))

    def store(self, resource: Resource, obj: Object) -> Object:
        """Write an object that was checked, and serve what a CRD defines."""
        if resource.key == CRDS.key:
            obj["status"] = established_status(obj, self.now())
            self.catalog.put(resources_of(obj))
        return self.state.put(resource.key, _with_type_meta(resource, obj))

    def store_or_remove(self, resource: Resource, obj: Object) -> Object:
        """Write an object, or remove it if it is being deleted and nothing holds it any more."""
        metadata = obj["metadata"]
        finalizing = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
        if resource.key == NAMESPACES.key:
            finalizing = finalizing or obj["spec"].get("finalizers")
        if "deletionTimestamp" not in metadata or finalizing:
            return self.store(resource, obj)
        self.remove(resource, obj)
        return obj

    def remove(self, resource: Resource, obj: Object) -> None:
        """Remove an object; a CRD's resource is served no longer."""
        self.state.remove(resource.key, obj)
        if resource.key == CRDS.key:
            self.catalog.drop(obj["metadata"]["name"])

    def _update(
        self, resource: Resource, namespace: str, name: str, obj: Object, options: WriteOptions
    ) -> Object:
        old = self.find(resource, namespace, name)
        metadata, before = self._set_identity(resource, namespace, obj), old["metadata"]
        if metadata.get("name") != name:
            message = f"the name of the object ({metadata.get('name')}) does not match the name"
            raise bad_request(f"{message} on the URL ({name})")
        if metadata.get("resourceVersion", before["resourceVersion"]) != before["resourceVersion"]:
            raise modified(resource, name)
        meta.keep_server_fields(metadata, before)
        new = self._updated(resource, obj, old, status=options.status)
        self._set_defaults(resource, new, strict=options.strict)
        refuse_protected_change(self.state, resource, new, old, options.user, status=options.status)
        if resource.generation and self._spec_of(new) != self._spec_of(old):
            new["metadata"]["generation"] = before.get("generation", 0) + 1
        self._raise_if_invalid(
            resource, old, self._update_causes(resource, new, old, status=options.status)
        )
        new["metadata"]["resourceVersion"] = before["resourceVersion"]
        if new == old:
            return old
        return self.store_or_remove(resource, new)

    def _set_identity(self, resource: Resource, namespace: str, obj: Object) -> Object:
        """Set an incoming object's kind and place; return its metadata, which is part of it."""
        missing = [field for field in ("apiVersion", "kind") if not obj.get(field)]
        if resource.custom and missing:
            raise bad_request(f"the object provided is unrecognized: {missing[0]} is missing")
        for field, expected in (("kind", resource.kind), ("apiVersion", resource.api_version)):
            if obj.setdefault(field, expected) != expected:
                actual = f'{obj["kind"]} in version "{obj.get("apiVersion", "")}"'
                raise bad_request(f"{actual} cannot be handled as a {resource.kind}")
        self._check_types(resource, obj)
        metadata = obj["metadata"] = meta.metadata_of(obj)
        if metadata.get("namespace", namespace) != namespace:
            message = "the namespace of the provided object does not match the namespace"
            raise bad_request(f"{message} sent on the request")
        if resource.namespaced:
            metadata["namespace"] = namespace
        return metadata

    def _check_types(self, resource: Resource, obj: Object) -> None:
        if not resource.custom:
            drop_nulls(obj)
        try:
            msgspec.convert(obj, shape_of(resource.key))
        except msgspec.ValidationError as error:
            raise bad_request(f"{obj['kind']} cannot be decoded: {error}") from error

    def _updated(self, resource: Resource, obj: Object, old: Object, *, status: bool) -> Object:
        if status:
            new = self._copy(old)
            new["status"] = obj.get("status") or {}
            if not resource.custom:
                new["metadata"] = obj["metadata"]
        else:
            new = obj
            if resource.status:
                new.pop("status", None)
                new |= {"status": old["status"]} if "status" in old else {}
        return new

    def _set_defaults(self, resource: Resource, obj: Object, *, strict: bool) -> None:
        if resource.schema is not None:
            obj["apiVersion"] = resource.api_version
            dropped = prune(resource.schema, obj)
            if dropped and strict:
                unknown = ", ".join(f'unknown field "{path}"' for path in dropped)
                raise bad_request(f"strict decoding error: {unknown}")
            set_defaults(resource.schema, obj)
        else:
            rules_of(resource.key).default(obj)
        obj["apiVersion"] = resource.stored_api_version

    def _causes(self, resource: Resource, obj: Object) -> Iterator[Cause]:
        yield from meta.check(obj["metadata"], path_name=resource.group in _PATH_NAMED)
        if resource.schema is not None:
            yield from check_value(resource.schema, obj)
        yield from rules_of(resource.key).check(obj)

    def _update_causes(
        self, resource: Resource, new: Object, old: Object, *, status: bool
    ) -> Iterator[Cause]:
        yield from meta.check_update(new["metadata"], old["metadata"])
        if status and not resource.custom:
            yield from rules_of(resource.key).check_status(new, old)
            return
        yield from self._causes(resource, new)
        yield from rules_of(resource.key).check_change(new, old)

    def _raise_if_invalid(self, resource: Resource, obj: Object, causes: Iterator[Cause]) -> None:
        if listed := list(causes):
            raise invalid(resource, obj["metadata"].get("name", ""), listed)

    def _spec_of(self, obj: Object) -> Object:
        return {key: value for key, value in obj.items() if key not in ("metadata", "status")}

    def _copy(self, obj: Object) -> Object:
        copy: Object = msgspec.json.decode(msgspec.json.encode(obj))
        return copy


def _with_type_meta(resource: Resource, obj: Object) -> Object:
    head = {"apiVersion": resource.stored_api_version, "kind": resource.kind}
    return head | obj | head
