"""Defaulting and validation of built-in kinds; one row of functions a resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from apiserver.kinds import jobs, pods
from apiserver.kinds.quantities import canonicalize_map
from apiserver.refusals import Cause, not_allowed
from apiserver.schema import crds

_LIMITS = ("default", "defaultRequest", "max", "maxLimitRequestRatio", "min")
Object = dict[str, Any]


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


def _no_change(_: Object) -> None:
    return


def _no_causes(*_: Object) -> Iterable[Cause]:
    return ()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of a write, in this order; each may only change the object it is given."""

    default: Callable[[Object], None] = _no_change  # defaults; whenever an object comes in
    prepare: Callable[[Object], None] = _no_change  # a new object, after admission
    check: Callable[[Object], Iterable[Cause]] = _no_causes  # new, or changed
    check_change: Callable[[Object, Object], Iterable[Cause]] = _no_causes  # new form, old form
    check_status: Callable[[Object, Object], Iterable[Cause]] = _no_causes
    creates_on_put: bool = False  # PUT on a name that is not there creates it


_FREE = Rules()
_ROWS: Mapping[str, Rules] = {
    "jobs.batch": Rules(
        default=jobs.default_job,
        prepare=jobs.prepare_job,
        check=jobs.check_job,
        check_change=jobs.check_job_change,
        check_status=jobs.check_job_status,
    ),
    "pods": Rules(
        default=pods.default_pod,
        prepare=pods.prepare_pod,
        check=pods.check_pod,
        check_change=pods.check_pod_change,
    ),
    "namespaces": Rules(default=default_namespace, prepare=prepare_namespace),
    "nodes": Rules(default=default_node),
    "limitranges": Rules(default=default_limit_range),
    "leases.coordination.k8s.io": Rules(creates_on_put=True),
    "priorityclasses.scheduling.k8s.io": Rules(
        default=default_priority_class, check_change=check_priority_class_change
    ),
    "customresourcedefinitions.apiextensions.k8s.io": Rules(
        default=crds.default_crd, prepare=crds.prepare_crd, check=crds.check_crd
    ),
}


def rules_of(key: str) -> Rules:
    """Return the rules of a built-in resource; one without rules of its own is stored as it is."""
    return _ROWS.get(key, _FREE)
