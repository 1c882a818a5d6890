"""Workload in v1beta2: what one job asks for, and what of it stays while it holds quota."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tidegate.kinds.kueue_api.workloads.status import WorkloadStatus
from tidegate.kinds.markers import (
    NAME_PATTERN,
    Count,
    Int32,
    Name,
    PodSetName,
    Rule,
    list_of_type,
    map_list,
    required_for_writers,
    schema_keywords,
)
from tidegate.kinds.meta import ApiType, ObjectMeta
from tidegate.kinds.pods import PodTemplateSpec

_REF, _OLD_REF = "self.spec.priorityClassRef", "oldSelf.spec.priorityClassRef"
_PLACES = "self.status.admission.podSetAssignments"
_DONE = "self.status.reclaimablePods"


def _true_of(which: str, condition: str) -> str:
    return (
        f"has({which}.status) && has({which}.status.conditions)"
        f" && {which}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
    )


def _fixed_while(condition: str, expression: str) -> str:
    """Put what nearly every write keeps first: going through conditions costs the API server."""
    return f"({expression}) || !({_true_of('oldSelf', condition)})"


def _same(path: str) -> str:
    *parents, field = path.split(".")
    new, old = ".".join(["self", *parents]), ".".join(["oldSelf", *parents])
    return (
        f"has({new}.{field}) == has({old}.{field})"
        f" && (!has({new}.{field}) || {new}.{field} == {old}.{field})"
    )


WORKLOAD: tuple[Rule, ...] = (
    Rule(
        _fixed_while("QuotaReserved", _same("spec.queueName")),
        "queueName is immutable while quota is reserved",
        ".spec.queueName",
    ),
    Rule(
        _fixed_while(
            "QuotaReserved",
            f"has({_REF}) == has({_OLD_REF}) && (!has({_REF}) || ("
            f"{_REF}.group == {_OLD_REF}.group && {_REF}.kind == {_OLD_REF}.kind"
            f" && ({_REF}.kind != 'PriorityClass' || {_REF}.name == {_OLD_REF}.name)))",
        ),
        "priorityClassRef stays while quota is reserved, but for a WorkloadPriorityClass's name",
        ".spec.priorityClassRef",
    ),
    Rule(
        _fixed_while("Admitted", _same("spec.maximumExecutionTimeSeconds")),
        "maximumExecutionTimeSeconds is immutable while admitted",
        ".spec.maximumExecutionTimeSeconds",
    ),
    Rule(
        f"!has(self.status) || !has(self.status.admission) || !has({_PLACES})"
        f" || (has(self.spec.podSets) && size({_PLACES}) == size(self.spec.podSets)"
        f" && {_PLACES}.all(a, self.spec.podSets.exists(p, p.name == a.name)))",
        "admission.podSetAssignments has one entry for each of spec.podSets",
        ".status.admission",
    ),
    Rule(
        f"!has(self.status) || !has({_DONE}) || (has(self.spec.podSets) && {_DONE}.all(r,"
        " self.spec.podSets.exists(p, p.name == r.name && r.count <= p.count)))",
        "reclaimablePods[].count is at most the podset's count",
        ".status.reclaimablePods",
    ),
)


class SliceConstraint(ApiType, frozen=True, kw_only=True):
    """The size of a slice, whose pods are placed in one domain of a topology level."""

    topology: Annotated[str, schema_keywords(minLength=1, maxLength=63)]
    size: Annotated[int, schema_keywords(format="int32", minimum=1)]


class PodSetTopologyRequest(ApiType, frozen=True, kw_only=True):
    """The topology request of a podset."""

    required: Annotated[str, schema_keywords(minLength=1, maxLength=63)] | None = None
    preferred: Annotated[str, schema_keywords(minLength=1, maxLength=63)] | None = None
    unconstrained: bool | None = None
    pod_index_label: Annotated[str, schema_keywords(maxLength=317)] | None = None
    sub_group_index_label: Annotated[str, schema_keywords(maxLength=317)] | None = None
    sub_group_count: Int32 | None = None  # negative: as if it were not there
    pod_set_group_name: Annotated[str, schema_keywords(maxLength=256)] | None = None
    pod_set_slice_required_topology: (
        Annotated[str, schema_keywords(minLength=1, maxLength=63)] | None
    ) = None
    pod_set_slice_size: Annotated[int, schema_keywords(format="int32", minimum=1)] | None = None
    podset_slice_required_topology_constraints: Annotated[
        tuple[SliceConstraint, ...], list_of_type("atomic", most=3)
    ] = ()


class WorkloadPodSet(ApiType, frozen=True, kw_only=True):
    """Pods of one shape."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.minCount) || self.minCount <= self.count",
            "minCount is at most count",
            ".minCount",
        ),
    )
    name: PodSetName = "main"
    template: PodTemplateSpec
    count: Count = 1
    min_count: Annotated[int, schema_keywords(format="int32", minimum=1)] | None = None
    topology_request: PodSetTopologyRequest | None = None


class PriorityClassRef(ApiType, frozen=True, kw_only=True):
    """The class that a workload's priority was taken from."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.kind == 'PriorityClass') == (self.group == 'scheduling.k8s.io')",
            "kind is WorkloadPriorityClass of kueue.x-k8s.io or PriorityClass of scheduling.k8s.io",
            ".kind",
        ),
    )
    group: Literal["kueue.x-k8s.io", "scheduling.k8s.io"]
    kind: Literal["WorkloadPriorityClass", "PriorityClass"]
    name: Annotated[str, schema_keywords(minLength=1, maxLength=253, pattern=NAME_PATTERN)]


class PreemptionGate(ApiType, frozen=True, kw_only=True):
    """A controller that must agree before the workload may preempt."""

    name: Annotated[str, schema_keywords(minLength=1, maxLength=63)]


class WorkloadSpec(ApiType, frozen=True, kw_only=True):
    """The spec of a Workload: its podsets, queue and priority."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.podSets) || self.podSets.filter(p, has(p.minCount)).size() <= 1",
            "podSets has at most one minCount",
            ".podSets",
        ),
        Rule(
            "!has(self.priorityClassRef) || has(self.priority)",
            "priority is required with priorityClassRef",
            ".priority",
        ),
    )
    pod_sets: Annotated[
        tuple[WorkloadPodSet, ...], map_list("name", most=18, least=1), required_for_writers()
    ] = ()
    queue_name: Name | None = None
    priority_class_ref: PriorityClassRef | None = None
    priority: Int32 | None = None
    active: bool = True
    maximum_execution_time_seconds: (
        Annotated[int, schema_keywords(format="int32", minimum=1)] | None
    ) = None
    preemption_gates: Annotated[tuple[PreemptionGate, ...], map_list("name", most=8)] = ()


class Workload(ApiType, frozen=True, kw_only=True):
    """A job's request for quota, and its admission."""

    rules: ClassVar[tuple[Rule, ...]] = WORKLOAD
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[WorkloadSpec, required_for_writers()] = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()
