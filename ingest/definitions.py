"""Kueue's and Kubernetes' own objects to observations: pure, and of one object alone."""

from __future__ import annotations

from typing import Any

from tidegate.contracts.observations import (
    CheckObserved,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    LimitRangeItem,
    LimitRangeObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PriorityClassObserved,
    RuntimeClassObserved,
    WorkloadPriorityClassObserved,
)
from tidegate.contracts.observed.clusters import (
    MultiKueueClusterObserved,
    MultiKueueConfigObserved,
)
from tidegate.contracts.observed.nodes import NodeObserved, TopologyObserved
from tidegate.errors import UndecodableError
from tidegate.kinds import names, seen
from tidegate.kinds.kueue_api.checks import (
    AdmissionCheck,
    MultiKueueCluster,
    MultiKueueConfig,
)
from tidegate.kinds.kueue_api.flavors import ResourceFlavor, Topology, WorkloadPriorityClass
from tidegate.kinds.kueue_api.queues.cluster_queue import ClusterQueue
from tidegate.kinds.kueue_api.queues.cohort import Cohort
from tidegate.kinds.kueue_api.queues.conversion import (
    cluster_queue_spec,
    cohort_spec,
    flavor_spec,
    local_queue_spec,
    statement,
)
from tidegate.kinds.kueue_api.queues.local_queue import LocalQueue
from tidegate.kinds.meta import ObjectMeta, holding
from tidegate.kinds.podsets import texts
from tidegate.kinds.times import micros
from tidegate.model.multikueue import CONTROLLER, CheckParameters
from tidegate.model.quantity import amount
from tidegate.model.topology import NodeSpec, Taint

LEVELS_MAX = 16
"""Of how many levels a Topology may be, as its CRD has it."""


def who(meta: ObjectMeta) -> dict[str, Any]:
    """Return an object's identity; session and round are filled in where it is published."""
    return {
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "version": meta.version,
        "session": "",
    }


def cluster_queue(queue: ClusterQueue) -> ClusterQueueObserved:
    """Observe a ClusterQueue.

    Raises:
        UndecodableError: an amount or an annotation cannot be read.
    """
    return ClusterQueueObserved(
        **who(queue.metadata),
        spec=cluster_queue_spec(queue),
        created_us=micros(queue.metadata.creation_timestamp or ""),
        deleting=queue.metadata.deleting,
        author=_author(queue.metadata),
        statement=statement(queue.metadata),
    )


def cohort(found: Cohort) -> CohortObserved:
    """Observe a Cohort."""
    return CohortObserved(
        **who(found.metadata),
        spec=cohort_spec(found),
        author=_author(found.metadata),
    )


def local_queue(queue: LocalQueue) -> LocalQueueObserved:
    """Observe a LocalQueue."""
    return LocalQueueObserved(
        **who(queue.metadata),
        spec=local_queue_spec(queue),
        deleting=queue.metadata.deleting,
        author=_author(queue.metadata),
    )


def flavor(found: ResourceFlavor) -> FlavorObserved:
    """Observe a ResourceFlavor."""
    return FlavorObserved(**who(found.metadata), spec=flavor_spec(found))


def workload_priority_class(found: WorkloadPriorityClass) -> WorkloadPriorityClassObserved:
    """Observe a WorkloadPriorityClass."""
    return WorkloadPriorityClassObserved(**who(found.metadata), value=found.value)


def admission_check(check: AdmissionCheck) -> CheckObserved:
    """Observe an AdmissionCheck."""
    return CheckObserved(
        **who(check.metadata),
        controller=check.spec.controller_name,
        active=holding(check.status.conditions, "Active") is not None,
        parameters=_parameters(check),
    )


def multikueue_cluster(found: MultiKueueCluster) -> MultiKueueClusterObserved:
    """Observe a MultiKueueCluster; where its credentials are is the dispatcher's business."""
    return MultiKueueClusterObserved(**who(found.metadata))


def multikueue_config(found: MultiKueueConfig) -> MultiKueueConfigObserved:
    """Observe a MultiKueueConfig."""
    return MultiKueueConfigObserved(**who(found.metadata), clusters=found.spec.clusters)


def priority_class(found: seen.PriorityClass) -> PriorityClassObserved:
    """Observe a PriorityClass."""
    return PriorityClassObserved(
        **who(found.metadata),
        value=found.value,
        is_default=found.global_default,
        never_preempts=found.preemption_policy == "Never",
    )


def namespace(found: seen.Namespace) -> NamespaceObserved:
    """Observe a Namespace."""
    return NamespaceObserved(**who(found.metadata), labels=found.metadata.labels)


def limit_range(found: seen.LimitRange) -> LimitRangeObserved:
    """Observe a LimitRange; quantities stay as written."""
    return LimitRangeObserved(
        **who(found.metadata),
        items=tuple(map(_limit_range_item, found.spec.limits)),
    )


def runtime_class(found: seen.RuntimeClass) -> RuntimeClassObserved:
    """Observe a RuntimeClass."""
    return RuntimeClassObserved(
        **who(found.metadata),
        overhead=texts(found.overhead.pod_fixed),
    )


def topology(found: Topology) -> TopologyObserved:
    """Observe a Topology.

    Raises:
        UndecodableError: it has more levels than its CRD allows.
    """
    depth = len(found.spec.levels)
    if depth > LEVELS_MAX:
        raise UndecodableError(f"It has {depth} levels, and not 1 to {LEVELS_MAX}.")
    levels = tuple(level.node_label for level in found.spec.levels)
    return TopologyObserved(**who(found.metadata), levels=levels)


def node(found: seen.Node) -> NodeObserved:
    """Observe a Node: nothing that its kubelet's heartbeats change.

    Raises:
        QuantityError: what it has to give is no quantity.
    """
    spec = NodeSpec(
        labels=found.metadata.labels,
        allocatable={
            name: amount(name, text) for name, text in texts(found.status.allocatable).items()
        },
        taints=tuple(
            Taint(key=one.key, value=one.value, effect=one.effect) for one in found.spec.taints
        ),
        ready=found.ready,
        unschedulable=found.spec.unschedulable,
    )
    return NodeObserved(**who(found.metadata), spec=spec)


def _limit_range_item(found: seen.LimitRangeItem) -> LimitRangeItem:
    return LimitRangeItem(
        type=found.type,
        max=texts(found.max),
        min=texts(found.min),
        default=texts(found.default),
        default_request=texts(found.default_request),
        max_ratio=texts(found.max_limit_request_ratio),
    )


def _parameters(check: AdmissionCheck) -> CheckParameters | None:
    """Return what configures a check of MultiKueue, which the scheduler decides."""
    named = check.spec.parameters
    if named is None or check.spec.controller_name != CONTROLLER:
        return None
    return CheckParameters(group=named.api_group, kind=named.kind, name=named.name)


def _author(meta: ObjectMeta) -> str:
    return meta.annotations.get(names.AUTHOR, "")
