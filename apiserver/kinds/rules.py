"""Defaulting and validation of built-in kinds; one row of functions a resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from apiserver.kinds import jobs, pods, small
from apiserver.refusals import Cause
from apiserver.schema import crds

Object = dict[str, Any]


def _nothing(_: Object) -> None:
    return


def _no_cause(*_: Object) -> Iterable[Cause]:
    return ()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of a write, in this order; each may only change the object it is given."""

    fill: Callable[[Object], None] = _nothing  # defaults; whenever an object comes in
    begin: Callable[[Object], None] = _nothing  # after admission, before a new object is checked
    check: Callable[[Object], Iterable[Cause]] = _no_cause  # new, or changed
    check_change: Callable[[Object, Object], Iterable[Cause]] = _no_cause  # new form, old form
    check_status: Callable[[Object, Object], Iterable[Cause]] = _no_cause
    creates_on_put: bool = False  # PUT on a name that is not there creates it


_FREE = Rules()
_ROWS: Mapping[str, Rules] = {
    "jobs.batch": Rules(
        fill=jobs.fill_job,
        begin=jobs.begin_job,
        check=jobs.check_job,
        check_change=jobs.check_job_change,
        check_status=jobs.check_job_status,
    ),
    "pods": Rules(
        fill=pods.fill_pod,
        begin=pods.begin_pod,
        check=pods.check_pod,
        check_change=pods.check_pod_change,
    ),
    "namespaces": Rules(fill=small.fill_namespace, begin=small.begin_namespace),
    "nodes": Rules(fill=small.fill_node),
    "limitranges": Rules(fill=small.fill_limit_range),
    "leases.coordination.k8s.io": Rules(creates_on_put=True),
    "priorityclasses.scheduling.k8s.io": Rules(
        fill=small.fill_priority_class, check_change=small.check_priority_class_change
    ),
    "customresourcedefinitions.apiextensions.k8s.io": Rules(
        fill=crds.fill_crd, begin=crds.begin_crd, check=crds.check_crd
    ),
}


def rules_of(key: str) -> Rules:
    """Return the rules of a built-in resource; one without rules of its own is stored as it is."""
    return _ROWS.get(key, _FREE)
