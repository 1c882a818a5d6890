"""ClusterQueue in v1beta2."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

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
    ResourceGroups,
    Usages,
    limits_need,
)
from tidegate.kinds.markers import Int32, Name, Rule
from tidegate.kinds.meta import Conditions, LabelSelector, ObjectMeta


class ClusterQueueSpec(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """A ClusterQueue's quota, and which namespaces may use it."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *limits_need("a cohort: set cohortName", "cohortName", "cohort"),
        *CONCURRENT,
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
    """Quota over flavors, and the policies of admission."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()
