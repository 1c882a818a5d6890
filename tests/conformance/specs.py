"""Kueue's v1beta2 objects as the model's specs.

The recorded objects never passed an admission webhook, so the API's defaults are applied here.
"""

from __future__ import annotations

from tests.conformance.cases import Json
from tests.conformance.pods import requirements, tolerations
from tidegate.model.podset import LabelSelector, Taint
from tidegate.model.quantity import amount, parse_quantity
from tidegate.model.quota import (
    WEIGHT_ONE,
    CheckRule,
    ClusterQueueSpec,
    CohortSpec,
    FlavorFungibility,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Preemption,
    Quota,
    ResourceGroup,
)


def flavor(spec: Json) -> FlavorSpec:
    """Translate a ResourceFlavor's spec."""
    return FlavorSpec(
        node_labels=spec.get("nodeLabels", {}),
        node_taints=tuple(
            Taint(key=taint["key"], value=taint.get("value", ""), effect=taint["effect"])
            for taint in spec.get("nodeTaints", ())
        ),
        tolerations=tolerations(spec.get("tolerations", ())),
        topology=spec.get("topologyName", ""),
    )


def cohort(spec: Json) -> CohortSpec:
    """Translate a Cohort's spec."""
    return CohortSpec(parent=spec.get("parentName", ""), groups=_groups(spec), weight=_weight(spec))


def local_queue(spec: Json) -> LocalQueueSpec:
    """Translate a LocalQueue's spec."""
    return LocalQueueSpec(
        cluster_queue=spec.get("clusterQueue", ""),
        stop_policy=spec.get("stopPolicy", "None"),
        weight=_weight(spec),
    )


def cluster_queue(spec: Json, *, fair: bool) -> ClusterQueueSpec:
    """Translate a ClusterQueue's spec; ``fair``: the cohort's queues share fairly."""
    return ClusterQueueSpec(
        cohort=spec.get("cohortName", ""),
        groups=_groups(spec),
        strategy=spec.get("queueingStrategy", "BestEffortFIFO"),
        namespace_selector=_selector(spec.get("namespaceSelector")),
        fungibility=_fungibility(spec.get("flavorFungibility", {})),
        preemption=_preemption(spec.get("preemption"), fair=fair),
        checks=_checks(spec),
        stop_policy=spec.get("stopPolicy", "None"),
        weight=_weight(spec),
        usage_based_admission=spec.get("admissionScope", {}).get("admissionMode", "")
        == "UsageBasedAdmissionFairSharing",
        migrates=_migration(spec).get("mode", "TryPreferredFlavors") == "TryPreferredFlavors",
        last_acceptable_flavor=_migration(spec)
        .get("constraints", {})
        .get("lastAcceptableFlavorName", ""),
    )


def _migration(spec: Json) -> Json:
    migration: Json = spec.get("concurrentAdmissionPolicy", {}).get("migration", {})
    return migration


def _checks(spec: Json) -> tuple[CheckRule, ...]:
    rules = spec.get("admissionChecksStrategy", {}).get("admissionChecks", ())
    return tuple(
        CheckRule(name=rule["name"], on_flavors=tuple(rule.get("onFlavors", ()))) for rule in rules
    )


def _weight(spec: Json) -> int:
    text = spec.get("fairSharing", {}).get("weight", "1")
    return int(parse_quantity(text) * WEIGHT_ONE)


def _selector(obj: Json | None) -> LabelSelector | None:
    if obj is None:
        return None
    return LabelSelector(
        labels=obj.get("matchLabels", {}),
        expressions=requirements(obj.get("matchExpressions", ())),
    )


def _fungibility(document: Json) -> FlavorFungibility:
    return FlavorFungibility(
        when_can_borrow=document.get("whenCanBorrow") or "MayStopSearch",
        when_can_preempt=document.get("whenCanPreempt") or "TryNextFlavor",
        preference=document.get("preference"),
    )


def _preemption(obj: Json | None, *, fair: bool) -> Preemption:
    if obj is None:
        return Preemption()
    borrow = obj.get("borrowWithinCohort", {})
    policy = borrow.get("policy", "Never")
    if fair and "reclaimWithinCohort" not in obj:
        # A missing member counts as "not Never" where fair sharing asks whether a queue may preempt
        # while it borrows (schedule-fair/015). No API server stores such an object; told through
        # this policy, which fair sharing looks at nowhere else, it means the same.
        policy = "LowerPriority"
    return Preemption(
        within_cluster_queue=obj.get("withinClusterQueue", "Never"),
        reclaim_within_cohort=obj.get("reclaimWithinCohort", "Never"),
        borrow_within_cohort=policy,
        borrow_max_priority=borrow.get("maxPriorityThreshold"),
    )


def _groups(spec: Json) -> tuple[ResourceGroup, ...]:
    return tuple(
        ResourceGroup(
            resources=tuple(group.get("coveredResources", ())),
            flavors=tuple(_flavor_quotas(each) for each in group.get("flavors", ())),
        )
        for group in spec.get("resourceGroups", ())
    )


def _flavor_quotas(document: Json) -> FlavorQuotas:
    quotas = {row["name"]: _quota(row) for row in document.get("resources", ())}
    return FlavorQuotas(flavor=document["name"], quotas=quotas)


def _quota(document: Json) -> Quota:
    name = document["name"]
    borrowing, lending = document.get("borrowingLimit"), document.get("lendingLimit")
    return Quota(
        nominal=amount(name, document.get("nominalQuota", "0")),
        borrowing_limit=None if borrowing is None else amount(name, borrowing),
        lending_limit=None if lending is None else amount(name, lending),
    )
