"""Kinds with one or two rules each: namespaces, nodes, limit ranges, priority classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.kinds.quantities import canonicalize_map
from apiserver.refusals import Cause, not_allowed

Object = dict[str, Any]
_LIMITS = ("default", "defaultRequest", "max", "maxLimitRequestRatio", "min")


def default_namespace(namespace: Object) -> None:
    """Write a namespace's defaults, in place."""
    metadata = namespace["metadata"]
    labels = metadata["labels"] = metadata.get("labels") or {}
    labels["kubernetes.io/metadata.name"] = metadata.get("name", "")
    namespace.setdefault("spec", {})


def prepare_namespace(namespace: Object) -> None:
    """Make a new namespace active, in place."""
    namespace["spec"] = {"finalizers": ["kubernetes"]}
    namespace["status"] = {"phase": "Active"}


def default_node(node: Object) -> None:
    """Write a node's defaults, in place: what it can give is what it has."""
    node.setdefault("spec", {})
    status = node.setdefault("status", {})
    for field in ("capacity", "allocatable"):
        canonicalize_map(status.get(field))
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))


def default_limit_range(limit_range: Object) -> None:
    """Write a limit range's defaults, in place: a default limit is a default request too."""
    for limit in (limit_range.get("spec") or {}).get("limits") or []:
        for field in _LIMITS:
            canonicalize_map(limit.get(field))
        if limit.get("type") == "Container" and "default" in limit:
            limit["defaultRequest"] = limit["default"] | (limit.get("defaultRequest") or {})


def default_priority_class(priority_class: Object) -> None:
    """Write a priority class's defaults, in place."""
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def check_priority_class_change(new: Object, old: Object) -> Iterator[Cause]:
    """Yield what a change does to a priority class that it may not."""
    for field in ("value", "preemptionPolicy"):
        if new.get(field, 0) != old.get(field, 0):
            yield not_allowed(field, "may not be changed in an update.")
