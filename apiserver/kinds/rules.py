"""Defaulting and validation of built-in kinds; one row of functions a resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from apiserver.kinds import jobs, pods, small
from apiserver.refusals import Cause
from apiserver.schema import crds

Object = dict[str, Any]


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
    "namespaces": Rules(default=small.default_namespace, prepare=small.prepare_namespace),
    "nodes": Rules(default=small.default_node),
    "limitranges": Rules(default=small.default_limit_range),
    "leases.coordination.k8s.io": Rules(creates_on_put=True),
    "priorityclasses.scheduling.k8s.io": Rules(
        default=small.default_priority_class, check_change=small.check_priority_class_change
    ),
    "customresourcedefinitions.apiextensions.k8s.io": Rules(
        default=crds.default_crd, prepare=crds.prepare_crd, check=crds.check_crd
    ),
}


def rules_of(key: str) -> Rules:
    """Return the rules of a built-in resource; one without rules of its own is stored as it is."""
    return _ROWS.get(key, _FREE)
