"""Which field of ``Objects`` has the definitions of which Kubernetes resource."""

from __future__ import annotations

from typing import TypeAlias, cast

from tidegate.contracts.fact_kinds.clusters import (
    MultiKueueClusterDefined,
    MultiKueueConfigDefined,
)
from tidegate.contracts.fact_kinds.definitions import (
    CheckDefined,
    ClusterQueueDefined,
    CohortDefined,
    FlavorDefined,
    LimitRangeDefined,
    LocalQueueDefined,
    NamespaceDefined,
    NamespaceRemoved,
    NodeDefined,
    NodePodsReported,
    PriorityClassDefined,
    RuntimeClassDefined,
    TopologyDefined,
    WorkloadPriorityClassDefined,
)
from tidegate.contracts.observed.clusters import MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS
from tidegate.contracts.observed.nodes import NODE_PODS, NODES, TOPOLOGIES
from tidegate.core.state.state import Objects
from tidegate.model.clusters import AT, NAMESPACES, cluster_of, local_name

Defined: TypeAlias = (
    ClusterQueueDefined
    | CohortDefined
    | FlavorDefined
    | LocalQueueDefined
    | WorkloadPriorityClassDefined
    | PriorityClassDefined
    | NamespaceDefined
    | LimitRangeDefined
    | RuntimeClassDefined
    | CheckDefined
    | TopologyDefined
    | NodeDefined
    | NodePodsReported
    | MultiKueueClusterDefined
    | MultiKueueConfigDefined
)

FIELDS: dict[str, str] = {
    "clusterqueues.kueue.x-k8s.io": "cluster_queues",
    "cohorts.kueue.x-k8s.io": "cohorts",
    "resourceflavors.kueue.x-k8s.io": "flavors",
    "localqueues.kueue.x-k8s.io": "local_queues",
    "workloadpriorityclasses.kueue.x-k8s.io": "workload_priority_classes",
    "priorityclasses.scheduling.k8s.io": "priority_classes",
    "namespaces": "namespaces",
    "limitranges": "limit_ranges",
    "runtimeclasses.node.k8s.io": "runtime_classes",
    "admissionchecks.kueue.x-k8s.io": "checks",
    TOPOLOGIES: "topologies",
    NODES: "nodes",
    NODE_PODS: "node_pods",
    MULTIKUEUE_CLUSTERS: "multikueue_clusters",
    MULTIKUEUE_CONFIGS: "multikueue_configs",
}
"""Resource to the field of ``Objects``; a resource that is not here has jobs."""
_MEMBER_NAMESPACES = f"{NAMESPACES}{AT}"


def definitions_of(objects: Objects, resource: str) -> dict[str, Defined] | None:
    """Return the live dict of a resource's definitions; None if it has none: then it has jobs.

    A member cluster's Namespaces are by their names there.
    """
    if resource.startswith(_MEMBER_NAMESPACES):
        cluster = cluster_of(resource)
        return cast("dict[str, Defined]", objects.member_namespaces.get(cluster, {}))
    field = FIELDS.get(resource)
    return None if field is None else cast("dict[str, Defined]", getattr(objects, field))


def fold_namespace(objects: Objects, event: NamespaceDefined | NamespaceRemoved) -> None:
    """Fold that a Namespace is there, or gone: one of a member cluster, or the ledger's own."""
    cluster, name = cluster_of(event.name), local_name(event.name)
    namespaces = (
        objects.member_namespaces.setdefault(cluster, {}) if cluster else objects.namespaces
    )
    if isinstance(event, NamespaceDefined):
        namespaces[name] = event
    else:
        namespaces.pop(name, None)
