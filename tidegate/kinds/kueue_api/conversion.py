"""Kueue's quota objects to what the core computes with: quantities become integers.

An amount or a time that cannot be read is an ``UndecodableError`` that names the field; ingest
tells it as ``ObjectRefused``. Podsets are in ``tidegate.kinds.podsets``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from tidegate.errors import QuantityError, UndecodableError
from tidegate.kinds.kueue_api.flavors import ResourceFlavor
from tidegate.kinds.kueue_api.queues import (
    ClusterQueue,
    ClusterQueueSpec,
    Cohort,
    LocalQueue,
    Migration,
)
from tidegate.kinds.kueue_api.quotas import FairSharing, FlavorQuotas, ResourceGroup, ResourceQuota
from tidegate.kinds.meta import LabelSelector, ObjectMeta
from tidegate.kinds.names import MIN_RUNTIME
from tidegate.kinds.podsets import toleration, written
from tidegate.kinds.times import duration_us
from tidegate.model import podset as model
from tidegate.model import quota
from tidegate.model.quantity import amount, parse

T = TypeVar("T")


def cluster_queue_spec(found: ClusterQueue) -> quota.ClusterQueueSpec:
    """Return a ClusterQueue's spec with amounts in base units.

    Raises:
        UndecodableError: an amount, the weight or the minimum run time cannot be read.
    """
    spec = found.spec
    return quota.ClusterQueueSpec(
        cohort=spec.cohort_name or "",
        groups=_groups(spec.resource_groups),
        strategy=spec.queueing_strategy,
        namespace_selector=label_selector(spec.namespace_selector),
        fungibility=_fungibility(spec),
        preemption=_preemption(spec),
        checks=_checks(spec),
        stop_policy=spec.stop_policy,
        weight=_weight(spec.fair_sharing),
        usage_based_admission=spec.admission_scope is not None
        and spec.admission_scope.admission_mode == "UsageBasedAdmissionFairSharing",
        concurrent=spec.concurrent_admission_policy is not None,
        migrates=_migration(spec).mode == "TryPreferredFlavors",
        last_acceptable_flavor=_last_acceptable(_migration(spec)),
        min_runtime_us=_min_runtime_us(found.metadata),
    )


def cohort_spec(found: Cohort) -> quota.CohortSpec:
    """Return a Cohort's spec with amounts in base units.

    Raises:
        UndecodableError: an amount or the weight cannot be read.
    """
    return quota.CohortSpec(
        parent=found.spec.parent_name or "",
        groups=_groups(found.spec.resource_groups),
        weight=_weight(found.spec.fair_sharing),
    )


def local_queue_spec(found: LocalQueue) -> quota.LocalQueueSpec:
    """Return a LocalQueue's spec.

    Raises:
        UndecodableError: the weight cannot be read.
    """
    return quota.LocalQueueSpec(
        cluster_queue=found.spec.cluster_queue or "",
        stop_policy=found.spec.stop_policy,
        weight=_weight(found.spec.fair_sharing),
    )


def flavor_spec(found: ResourceFlavor) -> quota.FlavorSpec:
    """Return a ResourceFlavor's spec."""
    spec = found.spec
    return quota.FlavorSpec(
        node_labels=spec.node_labels,
        node_taints=tuple(
            model.Taint(key=taint.key, value=taint.value, effect=taint.effect)
            for taint in spec.node_taints
        ),
        tolerations=tuple(map(toleration, spec.tolerations)),
        topology=spec.topology_name or "",
    )


def label_selector(found: LabelSelector | None) -> model.LabelSelector | None:
    """Return a label selector as the core matches it; none stays none and selects nothing."""
    if found is None:
        return None
    return model.LabelSelector(
        labels=found.match_labels,
        expressions=tuple(
            model.Requirement(key=one.key, operator=one.operator, values=one.values)
            for one in found.match_expressions
        ),
    )


def _groups(found: tuple[ResourceGroup, ...]) -> tuple[quota.ResourceGroup, ...]:
    return tuple(
        quota.ResourceGroup(
            resources=group.covered_resources or _offered(group),
            flavors=tuple(
                _flavor(f"spec.resourceGroups[{i}].flavors[{j}]", flavor)
                for j, flavor in enumerate(group.flavors)
            ),
        )
        for i, group in enumerate(found)
    )


def _offered(group: ResourceGroup) -> tuple[str, ...]:
    return tuple(one.name for flavor in group.flavors[:1] for one in flavor.resources)


def _flavor(path: str, found: FlavorQuotas) -> quota.FlavorQuotas:
    return quota.FlavorQuotas(
        flavor=found.name,
        quotas={
            one.name: _quota(f"{path}.resources[{i}]", one) for i, one in enumerate(found.resources)
        },
    )


def _quota(path: str, found: ResourceQuota) -> quota.Quota:
    def read(field: str, value: str | float) -> int:
        units = _located(f"{path}.{field}", lambda: amount(found.name, written(value)))
        if units < 0:
            raise UndecodableError(f"{path}.{field}: {value} is negative.")
        return units

    borrowing, lending = found.borrowing_limit, found.lending_limit
    return quota.Quota(
        nominal=read("nominalQuota", found.nominal_quota),
        borrowing_limit=None if borrowing is None else read("borrowingLimit", borrowing),
        lending_limit=None if lending is None else read("lendingLimit", lending),
    )


def _fungibility(spec: ClusterQueueSpec) -> quota.FlavorFungibility:
    found = spec.flavor_fungibility
    return quota.FlavorFungibility(
        when_can_borrow=found.when_can_borrow,
        when_can_preempt=found.when_can_preempt,
        preference=found.preference,
    )


def _preemption(spec: ClusterQueueSpec) -> quota.Preemption:
    found = spec.preemption
    return quota.Preemption(
        within_cluster_queue=found.within_cluster_queue,
        reclaim_within_cohort=found.reclaim_within_cohort,
        borrow_within_cohort=found.borrow_within_cohort.policy,
        borrow_max_priority=found.borrow_within_cohort.max_priority_threshold,
    )


def _checks(spec: ClusterQueueSpec) -> tuple[quota.CheckRule, ...]:
    if spec.admission_checks_strategy is None:
        return ()
    found = spec.admission_checks_strategy.admission_checks
    return tuple(quota.CheckRule(name=one.name, on_flavors=one.on_flavors) for one in found)


def _migration(spec: ClusterQueueSpec) -> Migration:
    policy = spec.concurrent_admission_policy
    usual = Migration(mode="TryPreferredFlavors")
    return usual if policy is None or policy.migration is None else policy.migration


def _last_acceptable(found: Migration) -> str:
    constraints = found.constraints
    return "" if constraints is None else constraints.last_acceptable_flavor_name or ""


def _weight(found: FairSharing | None) -> int:
    if found is None:
        return quota.WEIGHT_ONE
    path = "spec.fairSharing.weight"
    weight: Fraction = _located(path, lambda: parse(written(found.weight))) * quota.WEIGHT_ONE
    if weight < 0:
        raise UndecodableError(f"{path}: {found.weight} is negative.")
    return -(-weight.numerator // weight.denominator)


def _min_runtime_us(metadata: ObjectMeta) -> int:
    text = metadata.annotations.get(MIN_RUNTIME, "")
    path = f"metadata.annotations[{MIN_RUNTIME}]"
    return _located(path, lambda: duration_us(text)) if text else 0


def _located(path: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except (QuantityError, UndecodableError) as error:
        raise UndecodableError(f"{path}: {error}") from error
