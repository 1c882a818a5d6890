"""Kueue's quota objects to what the core computes with: quantities become integers.

An amount or a time that cannot be read is an ``UndecodableError`` that names the field; ingest
records it as ``ObjectRefused``. Podsets are in ``tidegate.kinds.podsets``.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import convert

from tidegate.errors import UndecodableError
from tidegate.kinds.kueue_api.flavors import ResourceFlavor
from tidegate.kinds.kueue_api.queues.objects import (
    ClusterQueue,
    ClusterQueueSpec,
    Cohort,
    LocalQueue,
)
from tidegate.kinds.kueue_api.queues.own_annotations import (
    budgets,
    clusters_of,
    placement_of,
    read_annotation,
    read_field,
)
from tidegate.kinds.kueue_api.queues.policies import Migration
from tidegate.kinds.kueue_api.queues.quotas import (
    FairSharing,
    FlavorQuotas,
    ResourceGroup,
    ResourceQuota,
)
from tidegate.kinds.meta import LabelSelector
from tidegate.kinds.names import MIN_RUNTIME
from tidegate.kinds.podsets import quantity_text, requirements, toleration
from tidegate.kinds.times import duration_us
from tidegate.model import podset as model
from tidegate.model import quota
from tidegate.model.quantity import UNLIMITED, amount, parse_quantity


def cluster_queue_spec(obj: ClusterQueue) -> quota.ClusterQueueSpec:
    """Return a ClusterQueue's spec with amounts in base units.

    Raises:
        UndecodableError: an amount, the weight, the minimum run time or a budget cannot be read.
    """
    spec = obj.spec
    return quota.ClusterQueueSpec(
        cohort=spec.cohort_name or "",
        groups=groups(spec.resource_groups),
        strategy=spec.queueing_strategy,
        namespace_selector=label_selector(spec.namespace_selector),
        fungibility=convert(spec.flavor_fungibility, quota.FlavorFungibility, from_attributes=True),
        preemption=_preemption(spec),
        checks=_checks(spec),
        stop_policy=spec.stop_policy,
        weight=weight(spec.fair_sharing),
        usage_based_admission=spec.admission_scope is not None
        and spec.admission_scope.admission_mode == "UsageBasedAdmissionFairSharing",
        concurrent=spec.concurrent_admission_policy is not None,
        migrates=_migration(spec).mode == "TryPreferredFlavors",
        last_acceptable_flavor=_last_acceptable(_migration(spec)),
        min_runtime_us=read_annotation(obj.metadata, MIN_RUNTIME, duration_us, 0),
        budgets=budgets(obj.metadata),
    )


def cohort_spec(obj: Cohort) -> quota.CohortSpec:
    """Return a Cohort's spec with amounts in base units.

    Raises:
        UndecodableError: an amount, the weight or a budget cannot be read.
    """
    return quota.CohortSpec(
        parent=obj.spec.parent_name or "",
        groups=groups(obj.spec.resource_groups),
        weight=weight(obj.spec.fair_sharing),
        budgets=budgets(obj.metadata),
    )


def local_queue_spec(obj: LocalQueue) -> quota.LocalQueueSpec:
    """Return a LocalQueue's spec.

    Raises:
        UndecodableError: the weight or the placement cannot be read.
    """
    return quota.LocalQueueSpec(
        cluster_queue=obj.spec.cluster_queue or "",
        stop_policy=obj.spec.stop_policy,
        weight=weight(obj.spec.fair_sharing),
        placement=placement_of(obj.metadata),
    )


def flavor_spec(obj: ResourceFlavor) -> quota.FlavorSpec:
    """Return a ResourceFlavor's spec.

    Raises:
        UndecodableError: its clusters cannot be read.
    """
    spec = obj.spec
    clusters, stops = clusters_of(obj.metadata)
    return quota.FlavorSpec(
        node_labels=spec.node_labels,
        node_taints=tuple(
            model.Taint(key=taint.key, value=taint.value, effect=taint.effect)
            for taint in spec.node_taints
        ),
        tolerations=tuple(map(toleration, spec.tolerations)),
        topology=spec.topology_name or "",
        clusters=clusters,
        stop_policies=stops,
    )


def label_selector(selector: LabelSelector | None) -> model.LabelSelector | None:
    """Return a label selector as the core matches it; none stays none and selects nothing."""
    if selector is None:
        return None
    return model.LabelSelector(
        labels=selector.match_labels,
        expressions=requirements(selector.match_expressions),
    )


def _preemption(spec: ClusterQueueSpec) -> quota.Preemption:
    preemption = spec.preemption
    return quota.Preemption(
        within_cluster_queue=preemption.within_cluster_queue,
        reclaim_within_cohort=preemption.reclaim_within_cohort,
        borrow_within_cohort=preemption.borrow_within_cohort.policy,
        borrow_max_priority=preemption.borrow_within_cohort.max_priority_threshold,
    )


def _checks(spec: ClusterQueueSpec) -> tuple[quota.CheckRule, ...]:
    if spec.admission_checks_strategy is None:
        return ()
    rules = spec.admission_checks_strategy.admission_checks
    return tuple(quota.CheckRule(name=rule.name, on_flavors=rule.on_flavors) for rule in rules)


def _migration(spec: ClusterQueueSpec) -> Migration:
    policy = spec.concurrent_admission_policy
    usual = Migration(mode="TryPreferredFlavors")
    return usual if policy is None or policy.migration is None else policy.migration


def _last_acceptable(affinity: Migration) -> str:
    constraints = affinity.constraints
    return "" if constraints is None else constraints.last_acceptable_flavor_name or ""


def groups(resource_groups: tuple[ResourceGroup, ...]) -> tuple[quota.ResourceGroup, ...]:
    """Return resource groups with amounts in base units.

    Raises:
        UndecodableError: an amount cannot be read, or is negative.
    """
    return tuple(
        quota.ResourceGroup(
            resources=group.covered_resources or _flavor_names(group),
            flavors=tuple(
                _flavor(f"spec.resourceGroups[{i}].flavors[{j}]", flavor)
                for j, flavor in enumerate(group.flavors)
            ),
        )
        for i, group in enumerate(resource_groups)
    )


def _flavor_names(group: ResourceGroup) -> tuple[str, ...]:
    return tuple(resource.name for flavor in group.flavors[:1] for resource in flavor.resources)


def _flavor(path: str, flavor: FlavorQuotas) -> quota.FlavorQuotas:
    return quota.FlavorQuotas(
        flavor=flavor.name,
        quotas={
            resource.name: _quota(f"{path}.resources[{i}]", resource)
            for i, resource in enumerate(flavor.resources)
        },
    )


def _quota(path: str, resource: ResourceQuota) -> quota.Quota:
    def read(field: str, value: str | float) -> int:
        units = read_field(f"{path}.{field}", lambda: amount(resource.name, quantity_text(value)))
        if units < 0:
            raise UndecodableError(f"{path}.{field}: {value} is negative.")
        return units

    borrowing, lending = resource.borrowing_limit, resource.lending_limit
    return quota.Quota(
        nominal=read("nominalQuota", resource.nominal_quota),
        borrowing_limit=None if borrowing is None else read("borrowingLimit", borrowing),
        lending_limit=None if lending is None else read("lendingLimit", lending),
    )


def weight(fair_sharing: FairSharing | None) -> int:
    """Return a weight in parts of ``quota.WEIGHT_ONE``, rounded up and capped.

    Raises:
        UndecodableError: it cannot be read, or is negative.
    """
    if fair_sharing is None:
        return quota.WEIGHT_ONE
    path = "spec.fairSharing.weight"
    share: Fraction = (
        read_field(path, lambda: parse_quantity(quantity_text(fair_sharing.weight)))
        * quota.WEIGHT_ONE
    )
    if share < 0:
        raise UndecodableError(f"{path}: {fair_sharing.weight} is negative.")
    return min(UNLIMITED, -(-share.numerator // share.denominator))
