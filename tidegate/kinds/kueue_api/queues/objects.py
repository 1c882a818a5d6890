"""ClusterQueue, Cohort and LocalQueue in v1beta2."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tidegate.kinds.kueue_api.queues.policies import (
    CONCURRENT,
    AdmissionScope,
    ChecksStrategy,
    ConcurrentAdmissionPolicy,
    FlavorFungibility,
    Preemption,
    StopPolicy,
)
from tidegate.kinds.kueue_api.queues.quotas import (
    FairSharing,
    FairSharingStatus,
    LocalUsages,
    ResourceGroups,
    Usages,
    limits_need,
)
from tidegate.kinds.markers import Int32, Name, Quantity, Rule, Time, schema_keywords, with_rules
from tidegate.kinds.meta import ApiObject, ApiType, Conditions, LabelSelector


class ClusterQueueSpec(ApiType, frozen=True, kw_only=True):
    """A ClusterQueue's quota, and which namespaces may use it."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *limits_need("a cohort: set cohortName", "cohortName", "cohort"),
        *CONCURRENT,
    )
    resource_groups: ResourceGroups = ()
    cohort_name: Name | None = None
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: (
        Annotated[LabelSelector, schema_keywords(**{"x-kubernetes-map-type": "atomic"})] | None
    ) = None  # None: no namespace
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: Preemption = Preemption()
    admission_checks_strategy: ChecksStrategy | None = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None


class ClusterQueueStatus(ApiType, frozen=True, kw_only=True):
    """The status of a ClusterQueue."""

    conditions: Conditions = ()
    flavors_reservation: Usages = ()
    flavors_usage: Usages = ()
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None
    fair_sharing: FairSharingStatus | None = None


class ClusterQueue(ApiObject, frozen=True, kw_only=True):
    """Quota over flavors, and the policies of admission."""

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()


class CohortSpec(ApiType, frozen=True, kw_only=True):
    """A cohort's place in the tree, and its own quota."""

    rules: ClassVar[tuple[Rule, ...]] = limits_need(
        "a parent: set parentName", "parentName", "parent"
    )
    parent_name: Name | None = None  # None: a root
    resource_groups: ResourceGroups = ()
    fair_sharing: FairSharing | None = None


class CohortStatus(ApiType, frozen=True, kw_only=True):
    """The status of a Cohort."""

    fair_sharing: FairSharingStatus | None = None


class Cohort(ApiObject, frozen=True, kw_only=True):
    """Queues and cohorts that lend each other what they do not use."""

    spec: CohortSpec = CohortSpec()
    status: CohortStatus = CohortStatus()


class LocalQueueSpec(ApiType, frozen=True, kw_only=True):
    """The ClusterQueue that a LocalQueue of a namespace refers to."""

    cluster_queue: Annotated[
        Name | None, with_rules(Rule("self == oldSelf", "clusterQueue is immutable"))
    ] = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None


class AdmissionFairSharingStatus(ApiType, frozen=True, kw_only=True):
    """A LocalQueue's past usage, decayed."""

    consumed_resources: dict[str, Quantity]
    last_update: Time


class LocalFairSharingStatus(ApiType, frozen=True, kw_only=True):
    """The share that a LocalQueue has."""

    weighted_share: Annotated[int, schema_keywords(format="int64")] = 0
    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None


class LocalQueueStatus(ApiType, frozen=True, kw_only=True):
    """The status of a LocalQueue."""

    conditions: Conditions = ()
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None
    flavors_reservation: LocalUsages = ()
    flavors_usage: LocalUsages = ()
    fair_sharing: LocalFairSharingStatus | None = None


class LocalQueue(ApiObject, frozen=True, kw_only=True):
    """A namespace's door to a ClusterQueue."""

    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()
