"""The status of a Workload in v1beta2: what was assigned, checked and counted."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from tidegate.kinds.kueue_api.flavors import TOLERATION
from tidegate.kinds.markers import (
    CheckName,
    Count,
    Int32,
    Name,
    PodSetName,
    Quantity,
    Rule,
    Time,
    list_of_type,
    map_list,
    required_for_writers,
    schema_keywords,
    with_rules,
)
from tidegate.kinds.meta import ApiType, Conditions
from tidegate.kinds.pods import Toleration

Positive: TypeAlias = Annotated[int, schema_keywords(format="int32", minimum=1)]
_EITHER = Rule(
    "has(self.universal) != has(self.individual)", "there is either universal or individual"
)


class IndividualValues(ApiType, frozen=True, kw_only=True):
    """A value for each domain: prefix, root and suffix joined."""

    prefix: Annotated[str, schema_keywords(maxLength=63)] | None = None
    suffix: Annotated[str, schema_keywords(maxLength=63)] | None = None
    roots: Annotated[tuple[str, ...], list_of_type("atomic", most=100_000, least=1)] = ()


class LevelValues(ApiType, frozen=True, kw_only=True):
    """The values of one level over the domains of a slice."""

    rules: ClassVar[tuple[Rule, ...]] = (_EITHER,)
    universal: Annotated[str, schema_keywords(maxLength=63)] | None = None
    individual: IndividualValues | None = None


class PodCounts(ApiType, frozen=True, kw_only=True):
    """The number of pods in each domain of a slice."""

    rules: ClassVar[tuple[Rule, ...]] = (_EITHER,)
    universal: Positive | None = None
    individual: Annotated[tuple[Positive, ...], list_of_type("atomic", most=100_000)] = ()


class TopologySlice(ApiType, frozen=True, kw_only=True):
    """Some domains of an assignment."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.valuesPerLevel.all(v, !has(v.individual)"
            " || (has(v.individual.roots) && size(v.individual.roots) == self.domainCount))",
            "valuesPerLevel[].individual.roots has one entry for each of domainCount",
            ".valuesPerLevel",
        ),
        Rule(
            "!has(self.podCounts.individual)"
            " || size(self.podCounts.individual) == self.domainCount",
            "podCounts.individual has one entry for each of domainCount",
            ".podCounts",
        ),
    )
    domain_count: Positive
    values_per_level: Annotated[tuple[LevelValues, ...], list_of_type("atomic", most=16, least=1)]
    pod_counts: PodCounts


class TopologyAssignment(ApiType, frozen=True, kw_only=True):
    """The domains of the topology that a podset's pods are assigned to."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.slices) || self.slices.all(s, size(s.valuesPerLevel) == size(self.levels))",
            "slices[].valuesPerLevel has one entry for each of levels",
            ".slices",
        ),
    )
    levels: Annotated[tuple[str, ...], list_of_type("atomic", most=16, least=1)]
    slices: Annotated[tuple[TopologySlice, ...], list_of_type("atomic", most=1000)] = ()


class PodSetAssignment(ApiType, frozen=True, kw_only=True):
    """The flavors and quota assigned to one podset."""

    name: PodSetName = "main"
    flavors: dict[str, Name] = {}
    resource_usage: dict[str, Quantity] = {}
    count: Count | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: Literal["Pending", "Ready"] | None = None


class Admission(ApiType, frozen=True, kw_only=True):
    """The quota that a workload holds."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.clusterQueue == oldSelf.clusterQueue",
            "admission.clusterQueue is immutable: unset admission first",
            ".clusterQueue",
        ),
    )
    cluster_queue: Name
    pod_set_assignments: Annotated[tuple[PodSetAssignment, ...], map_list("name", most=18)] = ()


class RequeueState(ApiType, frozen=True, kw_only=True):
    """The number of requeues, and the time before which the workload is not tried again."""

    count: Count | None = None
    requeue_at: Time | None = None


class ReclaimablePod(ApiType, frozen=True, kw_only=True):
    """Pods of a podset that are done for good."""

    name: PodSetName
    count: Count


class PodSetUpdate(ApiType, frozen=True, kw_only=True):
    """The changes that an admission check makes to a podset's template."""

    name: PodSetName
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: Annotated[
        tuple[Annotated[Toleration, with_rules(*TOLERATION)], ...], list_of_type("atomic", most=8)
    ] = ()


class CheckState(ApiType, frozen=True, kw_only=True):
    """The state of an admission check."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "oldSelf.state != 'Ready' || self.state != 'Ready'"
            " || (has(self.podSetUpdates) == has(oldSelf.podSetUpdates)"
            " && (!has(self.podSetUpdates) || self.podSetUpdates == oldSelf.podSetUpdates))",
            "podSetUpdates is immutable while state is Ready",
            ".podSetUpdates",
        ),
    )
    name: CheckName
    state: Literal["Pending", "Ready", "Retry", "Rejected"]
    last_transition_time: Annotated[Time, required_for_writers()] = ""
    message: Annotated[str, required_for_writers(maxLength=32768)] = ""
    requeue_after_seconds: Count | None = None
    retry_count: Count | None = None
    pod_set_updates: Annotated[tuple[PodSetUpdate, ...], list_of_type("atomic", most=18)] = ()


class PodSetRequest(ApiType, frozen=True, kw_only=True):
    """The requests of a pending podset as the scheduler computed them."""

    name: PodSetName = "main"
    resources: dict[str, Quantity] = {}


class EvictionCount(ApiType, frozen=True, kw_only=True):
    """The number of evictions for one reason."""

    reason: Annotated[str, schema_keywords(maxLength=316)]
    underlying_cause: Annotated[str, schema_keywords(maxLength=316)]
    count: Count


class SchedulingStats(ApiType, frozen=True, kw_only=True):
    """Counts of the workload's past evictions."""

    evictions: Annotated[
        tuple[EvictionCount, ...], map_list("reason", "underlyingCause", most=256)
    ] = ()


class UnhealthyNode(ApiType, frozen=True, kw_only=True):
    """A node that some of its pods cannot use."""

    name: Annotated[str, schema_keywords(minLength=1, maxLength=316)]


class PreemptionGateState(ApiType, frozen=True, kw_only=True):
    """The state of one preemption gate."""

    name: Annotated[str, schema_keywords(minLength=1, maxLength=63)]
    position: Literal["Closed", "Open"]
    last_transition_time: Annotated[Time, required_for_writers()] = ""


class WorkloadStatus(ApiType, frozen=True, kw_only=True):
    """The status of a Workload."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.conditions) || has(self.admission)"
            " || !self.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')",
            "admission is set while QuotaReserved is True",
            ".admission",
        ),
        Rule(
            "!has(self.clusterName) || !has(self.nominatedClusterNames)"
            " || size(self.nominatedClusterNames) == 0",
            "clusterName and nominatedClusterNames exclude each other",
            ".clusterName",
        ),
        Rule(
            "!has(oldSelf.clusterName) || !has(self.clusterName)"
            " || self.clusterName == oldSelf.clusterName",
            "clusterName is immutable",
            ".clusterName",
        ),
    )
    conditions: Conditions = ()
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: Annotated[tuple[ReclaimablePod, ...], map_list("name", most=18)] = ()
    admission_checks: Annotated[tuple[CheckState, ...], map_list("name", most=8)] = ()
    resource_requests: Annotated[tuple[PodSetRequest, ...], map_list("name", most=18)] = ()
    accumulated_past_execution_time_seconds: Int32 | None = None
    scheduling_stats: SchedulingStats | None = None
    nominated_cluster_names: Annotated[
        tuple[Annotated[str, schema_keywords(maxLength=256)], ...], list_of_type("atomic", most=20)
    ] = ()
    cluster_name: Annotated[str, schema_keywords(maxLength=256)] | None = None
    unhealthy_nodes: Annotated[tuple[UnhealthyNode, ...], map_list("name", most=8)] = ()
    preemption_gates: Annotated[tuple[PreemptionGateState, ...], map_list("name", most=8)] = ()
