"""ClusterQueue, Cohort and LocalQueue in v1beta2."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec

from tidegate.kinds.kueue_api.quotas import (
    FairSharing,
    FairSharingStatus,
    LocalUsages,
    ResourceGroups,
    Usages,
    limits_need,
)
from tidegate.kinds.markers import (
    CheckName,
    Int32,
    Name,
    Quantity,
    Rule,
    Time,
    keyed,
    listed,
    ruled,
    said,
)
from tidegate.kinds.meta import Conditions, LabelSelector, ObjectMeta

StopPolicy: TypeAlias = Literal["None", "Hold", "HoldAndDrain"]
Fungibility: TypeAlias = Literal["MayStopSearch", "TryNextFlavor"]


class FlavorFungibility(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
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


class BorrowWithinCohort(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """Whether a workload that borrows may preempt in other queues."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: Int32 | None = None


class Preemption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Whom a ClusterQueue's workloads may preempt."""

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


class CheckRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An admission check of a ClusterQueue; no flavors means all."""

    name: CheckName
    on_flavors: Annotated[tuple[Name, ...], listed("set", most=64)] = ()


class ChecksStrategy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The admission checks of a ClusterQueue."""

    admission_checks: Annotated[tuple[CheckRule, ...], keyed("name", most=64, least=1)] = ()


class AdmissionScope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Whether a ClusterQueue orders its workloads by what their LocalQueues used before."""

    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]


class MigrationConstraints(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """Which flavors a migration may end in."""

    last_acceptable_flavor_name: Name | None = None


class Migration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What happens when a better flavor frees up."""

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


class ConcurrentAdmissionPolicy(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """Whether a workload is tried on several flavors at once."""

    migration: Migration | None = None


_POLICY = "self.concurrentAdmissionPolicy"
_CONCURRENT = (
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


class ClusterQueueSpec(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """What a ClusterQueue gives and to whom."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *limits_need("a cohort: set cohortName", "cohortName", "cohort"),
        *_CONCURRENT,
    )
    resource_groups: ResourceGroups = ()
    cohort_name: Name | None = None
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None  # None: no namespace
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: Preemption = Preemption()
    admission_checks_strategy: ChecksStrategy | None = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None


class ClusterQueueStatus(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """How a ClusterQueue stands."""

    conditions: Conditions = ()
    flavors_reservation: Usages = ()
    flavors_usage: Usages = ()
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None
    fair_sharing: FairSharingStatus | None = None


class ClusterQueue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Quota over flavors, and the policy of who gets it."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()


class CohortSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A cohort's place in the tree, and its own quota."""

    rules: ClassVar[tuple[Rule, ...]] = limits_need(
        "a parent: set parentName", "parentName", "parent"
    )
    parent_name: Name | None = None  # None: a root
    resource_groups: ResourceGroups = ()
    fair_sharing: FairSharing | None = None


class CohortStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How a Cohort stands."""

    fair_sharing: FairSharingStatus | None = None


class Cohort(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Queues and cohorts that lend each other what they do not use."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: CohortSpec = CohortSpec()
    status: CohortStatus = CohortStatus()


class LocalQueueSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Which ClusterQueue a namespace's queue leads to."""

    cluster_queue: Annotated[
        Name | None, ruled(Rule("self == oldSelf", "clusterQueue is immutable"))
    ] = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None


class AdmissionFairSharingStatus(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """What went through a LocalQueue, decayed."""

    consumed_resources: dict[str, Quantity]
    last_update: Time


class LocalFairSharingStatus(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """The share that a LocalQueue has."""

    weighted_share: Annotated[int, said(format="int64")] = 0
    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None


class LocalQueueStatus(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """How a LocalQueue stands."""

    conditions: Conditions = ()
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None
    flavors_reservation: LocalUsages = ()
    flavors_usage: LocalUsages = ()
    fair_sharing: LocalFairSharingStatus | None = None


class LocalQueue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A namespace's door to a ClusterQueue."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()
