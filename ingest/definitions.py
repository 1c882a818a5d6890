"""Kueue's and Kubernetes' own objects to observations: pure, and of one object alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tidegate.contracts.observations import (
    CheckObserved,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    JobObserved,
    LimitRangeItem,
    LimitRangeObserved,
    LocalQueueObserved,
    NamespaceObserved,
    ObjectRefused,
    Observed,
    PriorityClassObserved,
    RuntimeClassObserved,
    WorkloadPriorityClassObserved,
)
from tidegate.contracts.observed.clusters import MultiKueueClusterObserved, MultiKueueConfigObserved
from tidegate.contracts.observed.nodes import NodeObserved, TopologyObserved
from tidegate.errors import UndecodableError
from tidegate.kinds import names, observed
from tidegate.kinds.kueue_api.checks import AdmissionCheck, MultiKueueCluster, MultiKueueConfig
from tidegate.kinds.kueue_api.flavors import ResourceFlavor, Topology, WorkloadPriorityClass
from tidegate.kinds.kueue_api.prices import prices
from tidegate.kinds.kueue_api.queues.conversion import (
    cluster_queue_spec,
    cohort_spec,
    flavor_spec,
    local_queue_spec,
)
from tidegate.kinds.kueue_api.queues.objects import ClusterQueue, Cohort, LocalQueue
from tidegate.kinds.kueue_api.queues.own_annotations import move_to_of, partition_of, statement_of
from tidegate.kinds.meta import ObjectMeta, true_condition
from tidegate.kinds.podsets import quantity_texts
from tidegate.kinds.times import micros
from tidegate.model.multikueue import CONTROLLER, CheckParameters
from tidegate.model.quantity import amount
from tidegate.model.quota import StopPolicy
from tidegate.model.topology import NodeSpec, Taint

ERROR_MAX = 1_024
LEVELS_MAX = 16
"""The maximum of a Topology's levels, as in its CRD."""


def identity(meta: ObjectMeta) -> dict[str, Any]:
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
        **identity(queue.metadata),
        spec=cluster_queue_spec(queue),
        created_us=micros(queue.metadata.creation_timestamp or ""),
        deleting=queue.metadata.is_deleting,
        author=_author(queue.metadata),
        statement=statement_of(queue.metadata),
        partition=partition_of(queue.metadata),
        move_to=move_to_of(queue.metadata),
    )


def cohort(obj: Cohort) -> CohortObserved:
    """Observe a Cohort.

    Raises:
        UndecodableError: an amount or an annotation cannot be read.
    """
    return CohortObserved(
        **identity(obj.metadata),
        spec=cohort_spec(obj),
        author=_author(obj.metadata),
        partition=partition_of(obj.metadata),
        move_to=move_to_of(obj.metadata),
    )


def local_queue(queue: LocalQueue, label_keys: Collection[str] = ()) -> LocalQueueObserved:
    """Observe a LocalQueue, with its labels of these keys: other labels decide nothing."""
    labels = queue.metadata.labels
    return LocalQueueObserved(
        **identity(queue.metadata),
        spec=local_queue_spec(queue),
        deleting=queue.metadata.is_deleting,
        author=_author(queue.metadata),
        labels={key: labels[key] for key in sorted(label_keys) if key in labels},
    )


def flavor(resource_flavor: ResourceFlavor) -> FlavorObserved:
    """Observe a ResourceFlavor.

    Raises:
        UndecodableError: its prices cannot be read.
    """
    return FlavorObserved(
        **identity(resource_flavor.metadata),
        spec=flavor_spec(resource_flavor),
        author=_author(resource_flavor.metadata),
        prices=prices(resource_flavor.metadata),
    )


def workload_priority_class(obj: WorkloadPriorityClass) -> WorkloadPriorityClassObserved:
    """Observe a WorkloadPriorityClass."""
    return WorkloadPriorityClassObserved(**identity(obj.metadata), value=obj.value)


def admission_check(check: AdmissionCheck) -> CheckObserved:
    """Observe an AdmissionCheck."""
    return CheckObserved(
        **identity(check.metadata),
        controller=check.spec.controller_name,
        active=true_condition(check.status.conditions, "Active") is not None,
        parameters=_parameters(check),
    )


def multikueue_cluster(multi_kueue_cluster: MultiKueueCluster) -> MultiKueueClusterObserved:
    """Observe a MultiKueueCluster; where its credentials are is the dispatcher's business.

    A stop policy that is none holds the cluster: its author meant to stop something.
    """
    meta = multi_kueue_cluster.metadata
    text = meta.annotations.get(names.STOP_POLICY, "None")
    policy: StopPolicy = "Hold"
    match text:
        case "None" | "Hold" | "HoldAndDrain":
            policy = text
        case _:
            pass
    return MultiKueueClusterObserved(**identity(meta), stop_policy=policy)


def multikueue_config(multi_kueue_config: MultiKueueConfig) -> MultiKueueConfigObserved:
    """Observe a MultiKueueConfig."""
    return MultiKueueConfigObserved(
        **identity(multi_kueue_config.metadata), clusters=multi_kueue_config.spec.clusters
    )


def priority_class(obj: observed.PriorityClass) -> PriorityClassObserved:
    """Observe a PriorityClass."""
    return PriorityClassObserved(
        **identity(obj.metadata),
        value=obj.value,
        is_default=obj.global_default,
        never_preempts=obj.preemption_policy == "Never",
    )


def namespace(obj: observed.Namespace) -> NamespaceObserved:
    """Observe a Namespace."""
    return NamespaceObserved(**identity(obj.metadata), labels=obj.metadata.labels)


def limit_range(obj: observed.LimitRange) -> LimitRangeObserved:
    """Observe a LimitRange; quantities stay as written."""
    return LimitRangeObserved(
        **identity(obj.metadata),
        items=tuple(map(_limit_range_item, obj.spec.limits)),
    )


def runtime_class(obj: observed.RuntimeClass) -> RuntimeClassObserved:
    """Observe a RuntimeClass."""
    return RuntimeClassObserved(
        **identity(obj.metadata),
        overhead=quantity_texts(obj.overhead.pod_fixed),
    )


def topology(obj: Topology) -> TopologyObserved:
    """Observe a Topology.

    Raises:
        UndecodableError: it has more levels than its CRD allows.
    """
    depth = len(obj.spec.levels)
    if depth > LEVELS_MAX:
        raise UndecodableError(f"It has {depth} levels, and not 1 to {LEVELS_MAX}.")
    levels = tuple(level.node_label for level in obj.spec.levels)
    return TopologyObserved(**identity(obj.metadata), levels=levels)


def node(obj: observed.Node) -> NodeObserved:
    """Observe a Node: nothing that its kubelet's heartbeats change.

    Raises:
        QuantityError: what it has to give is no quantity.
    """
    spec = NodeSpec(
        labels=obj.metadata.labels,
        allocatable={
            name: amount(name, text)
            for name, text in quantity_texts(obj.status.allocatable).items()
        },
        taints=tuple(
            Taint(key=taint.key, value=taint.value, effect=taint.effect)
            for taint in obj.spec.taints
        ),
        ready=obj.is_ready,
        unschedulable=obj.spec.unschedulable,
    )
    return NodeObserved(**identity(obj.metadata), spec=spec)


def _limit_range_item(limit_range_item: observed.LimitRangeItem) -> LimitRangeItem:
    return LimitRangeItem(
        type=limit_range_item.type,
        max=quantity_texts(limit_range_item.max),
        min=quantity_texts(limit_range_item.min),
        default=quantity_texts(limit_range_item.default),
        default_request=quantity_texts(limit_range_item.default_request),
        max_ratio=quantity_texts(limit_range_item.max_limit_request_ratio),
    )


def _parameters(check: AdmissionCheck) -> CheckParameters | None:
    """Return what configures a check of MultiKueue, which the scheduler decides."""
    named = check.spec.parameters
    if named is None or check.spec.controller_name != CONTROLLER:
        return None
    return CheckParameters(group=named.api_group, kind=named.kind, name=named.name)


def _author(meta: ObjectMeta) -> str:
    return meta.annotations.get(names.AUTHOR, "")


def refusal_of(
    resource: str, observation: Observed, error: str, job: JobObserved | None = None
) -> ObjectRefused:
    """Return the observation of an object that cannot be decoded or is too large."""
    return ObjectRefused(
        namespace=observation.namespace,
        name=observation.name,
        uid=observation.uid,
        version=observation.version,
        session=observation.session,
        round=observation.round,
        resource=resource,
        error=error[:ERROR_MAX],
        job=job,
    )
