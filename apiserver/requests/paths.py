"""Paths of an API server, read: ``/apis/batch/v1/namespaces/team/jobs/train/status``."""

from __future__ import annotations

import msgspec

from apiserver.refusals import no_such_path
from apiserver.resources import NAMESPACES, Catalog, Resource

_CORE, _GROUPS = "api", "apis"
_PARTS = ("status", "finalize")  # of a namespace


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The object or collection that a path points at."""

    resource: Resource
    namespace: str | None  # None: every namespace, or a resource that has none
    name: str = ""  # empty: the collection
    subresource: str = ""

    @property
    def namespace_key(self) -> str:
        """Return the namespace as the state keeps it."""
        return self.namespace or ""


def read_path(catalog: Catalog, path: str) -> Target:
    """Return what a path points at.

    Raises:
        RefusedError: 404, nothing is there.
    """
    group, version, rest = _split(path)
    namespace: str | None = None
    match rest:
        case [NAMESPACES.plural, inside, plural, *names] if plural not in _PARTS:
            namespace = inside
        case [plural, *names]:
            pass
        case _:
            raise no_such_path()
    resource = catalog.find(group, version, plural)
    if resource is None or len(names) > len(("name", "subresource")) or "" in names:
        raise no_such_path()
    name, subresource = (*names, "", "")[:2]
    if resource.namespaced == (namespace is None) and (name or namespace is not None):
        raise no_such_path()
    return Target(resource=resource, namespace=namespace, name=name, subresource=subresource)


def _split(path: str) -> tuple[str, str, list[str]]:
    match path.strip("/").split("/"):
        case [str(root), version, *rest] if root == _CORE:
            return "", version, rest
        case [str(root), group, version, *rest] if root == _GROUPS:
            return group, version, rest
        case _:
            raise no_such_path()
