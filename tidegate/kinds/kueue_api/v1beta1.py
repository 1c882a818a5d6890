"""The older spellings of Kueue's API, read as v1beta2.

Objects in etcd may be spelled either way: the CRDs convert nothing (strategy None), and the policy
that respells writes fails open. Source: api.md section 11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from tidegate.kinds.kueue_api.checks import MultiKueueCluster
from tidegate.kinds.kueue_api.queues.objects import ClusterQueue, Cohort, LocalQueue
from tidegate.kinds.kueue_api.workloads.workload import Workload

Raw: TypeAlias = dict[str, Any]
PRIORITY_SOURCES = {
    "kueue.x-k8s.io/workloadpriorityclass": ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}
"""priorityClassSource to the group and kind of priorityClassRef."""
_WORDS: dict[type, tuple[bytes, ...]] = {
    ClusterQueue: (b'"cohort"', b'"admissionChecks"', b'"Borrow"', b'"Preempt"'),
    Cohort: (b'"parent"',),
    LocalQueue: (b'"flavorUsage"',),
    Workload: (b'"priorityClassName"', b'"accumulatedPastExexc', b'"domains"'),
    MultiKueueCluster: (b'"kubeConfig"', b'"clusterProfileRef"'),
}


def may_be_v1beta1(kind: type, body: bytes | msgspec.Raw) -> bool:
    """Return whether an object's JSON may be v1beta1; where in doubt, yes."""
    words = _WORDS.get(kind, ())
    text = bytes(body) if words else b""
    return any(word in text for word in words)


def to_v1beta2(kind: type, raw: Raw) -> Raw:
    """Return an object in v1beta2's spelling; the argument stays as it is.

    Where both spellings are there the newer one holds; a field that is null is not there.
    """
    upgrade = _UPGRADES.get(kind)
    if upgrade is None:
        return raw
    spec, status = dict(raw.get("spec") or {}), dict(raw.get("status") or {})
    upgrade(spec, status)
    return raw | {"spec": spec} | ({"status": status} if status else {})


def _cluster_queue(spec: Raw, status: Raw) -> None:
    status.pop("pendingWorkloadsStatus", None)
    _rename_field(spec, "cohort", "cohortName")
    checks = spec.pop("admissionChecks", None)
    if checks:
        named = {"admissionChecks": [{"name": name} for name in checks]}
        _set_default(spec, "admissionChecksStrategy", named)
    fungibility = dict(spec.get("flavorFungibility") or {})
    for field in ("whenCanBorrow", "whenCanPreempt"):
        if fungibility.get(field) in {"Borrow", "Preempt"}:
            fungibility[field] = "MayStopSearch"
    if fungibility:
        spec["flavorFungibility"] = fungibility


def _cohort(spec: Raw, _status: Raw) -> None:
    _rename_field(spec, "parent", "parentName")


def _local_queue(_spec: Raw, status: Raw) -> None:
    _rename_field(status, "flavorUsage", "flavorsUsage")
    status.pop("flavors", None)


def _workload(spec: Raw, status: Raw) -> None:
    name, source = spec.pop("priorityClassName", ""), spec.pop("priorityClassSource", "")
    if name and source in PRIORITY_SOURCES:
        group, kind = PRIORITY_SOURCES[source]
        _set_default(spec, "priorityClassRef", {"group": group, "kind": kind, "name": name})
    _rename_field(
        status, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds"
    )
    admission = status.get("admission")
    if admission:
        assigned = [
            _assignment(assignment) for assignment in admission.get("podSetAssignments", ())
        ]
        status["admission"] = admission | {"podSetAssignments": assigned}


def _assignment(assignment: Raw) -> Raw:
    place = assignment.get("topologyAssignment")
    if not place or "domains" not in place:
        return assignment
    slices = [
        {
            "domainCount": 1,
            "valuesPerLevel": [{"universal": value} for value in domain["values"]],
            "podCounts": {"universal": domain["count"]},
        }
        for domain in place["domains"]
    ]
    return assignment | {"topologyAssignment": {"levels": place["levels"], "slices": slices}}


def _multikueue_cluster(spec: Raw, _status: Raw) -> None:
    fields = {field: spec.pop(field, None) for field in ("kubeConfig", "clusterProfileRef")}
    source = {field: value for field, value in fields.items() if value is not None}
    if source:
        _set_default(spec, "clusterSource", source)


def _rename_field(obj: Raw, old: str, new: str) -> None:
    value = obj.pop(old, None)
    if value:
        _set_default(obj, new, value)


def _set_default(obj: Raw, field: str, value: Any) -> None:  # noqa: ANN401  # any JSON value
    if obj.get(field) is None:
        obj[field] = value


_UPGRADES: dict[type, Callable[[Raw, Raw], None]] = {
    ClusterQueue: _cluster_queue,
    Cohort: _cohort,
    LocalQueue: _local_queue,
    Workload: _workload,
    MultiKueueCluster: _multikueue_cluster,
}
