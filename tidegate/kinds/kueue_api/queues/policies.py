"""The policies of a ClusterQueue in v1beta2: on flavors, preemption, checks and variants."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from tidegate.kinds.markers import CheckName, Int32, Name, Rule, list_of_type, map_list
from tidegate.kinds.meta import ApiType

StopPolicy: TypeAlias = Literal["None", "Hold", "HoldAndDrain"]
Fungibility: TypeAlias = Literal["MayStopSearch", "TryNextFlavor"]


class FlavorFungibility(ApiType, frozen=True, kw_only=True):
    """When the search over flavors may stop."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor'"
            " && self.whenCanPreempt == 'TryNextFlavor')",
            "preference needs whenCanBorrow and whenCanPreempt to be TryNextFlavor",
            ".preference",
        ),
    )
    when_can_borrow: Fungibility = "MayStopSearch"
    when_can_preempt: Fungibility = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class BorrowWithinCohort(ApiType, frozen=True, kw_only=True):
    """The condition under which a borrowing workload may preempt in other ClusterQueues."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: Int32 | None = None


class Preemption(ApiType, frozen=True, kw_only=True):
    """The workloads that a ClusterQueue's workloads may preempt."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.reclaimWithinCohort != 'Never' || !has(self.borrowWithinCohort)"
            " || self.borrowWithinCohort.policy == 'Never'",
            "borrowWithinCohort.policy is Never where reclaimWithinCohort is Never",
            ".borrowWithinCohort",
        ),
    )
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"


class CheckRule(ApiType, frozen=True, kw_only=True):
    """An admission check of a ClusterQueue; no flavors means all."""

    name: CheckName
    on_flavors: Annotated[tuple[Name, ...], list_of_type("set", most=64)] = ()


class ChecksStrategy(ApiType, frozen=True, kw_only=True):
    """The admission checks of a ClusterQueue."""

    admission_checks: Annotated[tuple[CheckRule, ...], map_list("name", most=64, least=1)] = ()


class AdmissionScope(ApiType, frozen=True, kw_only=True):
    """The order of a ClusterQueue's workloads by their LocalQueues' past usage."""

    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]


class MigrationConstraints(ApiType, frozen=True, kw_only=True):
    """The flavors that a migration may choose."""

    last_acceptable_flavor_name: Name | None = None


class Migration(ApiType, frozen=True, kw_only=True):
    """The migration of an admitted workload to a flavor that is preferred."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.mode == 'TryPreferredFlavors' || !has(self.constraints)"
            " || !has(self.constraints.lastAcceptableFlavorName)",
            "constraints.lastAcceptableFlavorName needs mode TryPreferredFlavors",
            ".constraints",
        ),
    )
    mode: Literal["TryPreferredFlavors", "RetainFirstAdmission"]
    constraints: MigrationConstraints | None = None


class ConcurrentAdmissionPolicy(ApiType, frozen=True, kw_only=True):
    """Concurrent admission: a workload is tried on several flavors at once."""

    migration: Migration | None = None


_POLICY = "self.concurrentAdmissionPolicy"
CONCURRENT = (
    Rule(
        f"has({_POLICY}) == has(oldSelf.concurrentAdmissionPolicy)"
        f" && (!has({_POLICY}) || {_POLICY} == oldSelf.concurrentAdmissionPolicy)",
        "concurrentAdmissionPolicy is immutable",
        ".concurrentAdmissionPolicy",
    ),
    Rule(
        f"!has({_POLICY}) || (has(self.resourceGroups) && size(self.resourceGroups) == 1"
        " && size(self.resourceGroups[0].flavors) <= 16"
        " && self.queueingStrategy != 'StrictFIFO')",
        "concurrentAdmissionPolicy needs one resource group of at most 16 flavors and"
        " queueingStrategy BestEffortFIFO",
        ".concurrentAdmissionPolicy",
    ),
    Rule(
        f"!has({_POLICY}) || !has({_POLICY}.migration)"
        f" || !has({_POLICY}.migration.constraints)"
        f" || !has({_POLICY}.migration.constraints.lastAcceptableFlavorName)"
        " || (has(self.resourceGroups) && self.resourceGroups.exists(g, g.flavors.exists(f,"
        f" f.name == {_POLICY}.migration.constraints.lastAcceptableFlavorName)))",
        "lastAcceptableFlavorName is a flavor of this ClusterQueue",
        ".concurrentAdmissionPolicy",
    ),
)
