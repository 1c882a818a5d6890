"""Kueue's quota objects to what the core computes with: quantities become integers.

An amount or a time that cannot be read is an ``UndecodableError`` that names the field; ingest
records it as ``ObjectRefused``. Podsets are in ``tidegate.kinds.podsets``.
"""

from __future__ import annotations

import re
from typing import Any

from tidegate.errors import UndecodableError
from tidegate.kinds.kueue_api.flavors import ResourceFlavor
from tidegate.kinds.kueue_api.queues.budgets import budgets
from tidegate.kinds.kueue_api.queues.cluster_queue import ClusterQueue, ClusterQueueSpec
from tidegate.kinds.kueue_api.queues.clusters import clusters_of, placement_of
from tidegate.kinds.kueue_api.queues.cohort import Cohort
from tidegate.kinds.kueue_api.queues.local_queue import LocalQueue
from tidegate.kinds.kueue_api.queues.policies import Migration
from tidegate.kinds.kueue_api.queues.quota_conversion import groups, located, weight
from tidegate.kinds.kueue_api.workloads.topology_assignment import LevelValues as Values
from tidegate.kinds.kueue_api.workloads.topology_assignment import TopologyAssignment as Assigned
from tidegate.kinds.meta import LabelSelector, ObjectMeta
from tidegate.kinds.names import MIN_RUNTIME, STATEMENT
from tidegate.kinds.podsets import toleration
from tidegate.kinds.times import duration_us
from tidegate.model import podset as model
from tidegate.model import quota
from tidegate.model.topology import LevelValues, TopologyAssignment, TopologySlice

_STATEMENT = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])=[0-9a-f]{64}", re.ASCII)


def statement(metadata: ObjectMeta) -> str:
    """Return the month that a ClusterQueue's annotation closes, and the digest; empty: none.

    Raises:
        UndecodableError: the annotation is neither.
    """
    text = metadata.annotations.get(STATEMENT, "")
    if text and not _STATEMENT.fullmatch(text):
        problem = "is not a month and the SHA-256 of its statement, such as 2026-03=9f86d081…"
        raise UndecodableError(f"metadata.annotations[{STATEMENT}] {problem}")
    return text


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
        fungibility=_fungibility(spec),
        preemption=_preemption(spec),
        checks=_checks(spec),
        stop_policy=spec.stop_policy,
        weight=weight(spec.fair_sharing),
        usage_based_admission=spec.admission_scope is not None
        and spec.admission_scope.admission_mode == "UsageBasedAdmissionFairSharing",
        concurrent=spec.concurrent_admission_policy is not None,
        migrates=_migration(spec).mode == "TryPreferredFlavors",
        last_acceptable_flavor=_last_acceptable(_migration(spec)),
        min_runtime_us=_min_runtime_us(obj.metadata),
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
        UndecodableError: the weight cannot be read, or its jobs shall be placed elsewhere.
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
        held=stops,
    )


def label_selector(selector: LabelSelector | None) -> model.LabelSelector | None:
    """Return a label selector as the core matches it; none stays none and selects nothing."""
    if selector is None:
        return None
    return model.LabelSelector(
        labels=selector.match_labels,
        expressions=tuple(
            model.Requirement(
                key=expression.key, operator=expression.operator, values=expression.values
            )
            for expression in selector.match_expressions
        ),
    )


def _fungibility(spec: ClusterQueueSpec) -> quota.FlavorFungibility:
    fungibility = spec.flavor_fungibility
    return quota.FlavorFungibility(
        when_can_borrow=fungibility.when_can_borrow,
        when_can_preempt=fungibility.when_can_preempt,
        preference=fungibility.preference,
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


def topology_assignment(assignment: Assigned) -> TopologyAssignment:
    """Return where a podset's pods go, as a Workload shows it."""
    slices = tuple(
        TopologySlice(
            domains=topology_slice.domain_count,
            values=tuple(_level_values(values) for values in topology_slice.values_per_level),
            pods=topology_slice.pod_counts.universal or 0,
            pods_each=topology_slice.pod_counts.individual,
        )
        for topology_slice in assignment.slices
    )
    return TopologyAssignment(levels=assignment.levels, slices=slices)


def _level_values(values: Values) -> LevelValues:
    if values.individual is None:
        return LevelValues(universal=values.universal)
    own = values.individual
    return LevelValues(prefix=own.prefix or "", suffix=own.suffix or "", roots=own.roots)


def written_assignment(assignment: TopologyAssignment) -> dict[str, Any]:
    """Return a ``topologyAssignment`` as v1beta2 writes it."""
    slices = [
        {
            "domainCount": topology_slice.domains,
            "valuesPerLevel": [_written_values(values) for values in topology_slice.values],
            "podCounts": {"individual": list(topology_slice.pods_each)}
            if topology_slice.pods_each
            else {"universal": topology_slice.pods},
        }
        for topology_slice in assignment.slices
    ]
    return {"levels": list(assignment.levels), "slices": slices}


def _written_values(values: LevelValues) -> dict[str, Any]:
    if values.universal is not None:
        return {"universal": values.universal}
    around = {"prefix": values.prefix, "suffix": values.suffix}
    settings = {field: text for field, text in around.items() if text}
    return {"individual": {**settings, "roots": list(values.roots)}}


def _min_runtime_us(metadata: ObjectMeta) -> int:
    text = metadata.annotations.get(MIN_RUNTIME, "")
    path = f"metadata.annotations[{MIN_RUNTIME}]"
    return located(path, lambda: duration_us(text)) if text else 0
