"""Decisions: events of the ledger that the core chose."""

# pyright: reportUnusedImport=false
from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tidegate.contracts.decision_kinds.clusters import ClusterDecision
from tidegate.contracts.decision_kinds.copies import CopyOrder
from tidegate.contracts.decision_kinds.placements import (
    NodeFailed,
    PlacementTried,
    PodSetStart,
    SecondPassFailed,
    TopologyAssigned,
)
from tidegate.contracts.decision_kinds.queues import (
    BudgetDecision,
    ClusterQueueReadinessChanged,
    ClusterQueueReleased,
    Decision,
    LocalQueueUsageSampled,
    SampledUsage,
    WorkloadDecision,
)
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment

PendingReason = Literal[
    "NoMatchingFlavor",
    "WaitingForQuota",
    "ExceedsMaxQuota",
    "TopologyPlacementFailed",
    "WaitingForPreemptedWorkloads",
    "Misconfigured",
    "Suspended",
    "PendingEvaluation",
    "WaitingForPodsReady",
    "AdmissionGated",
    "OnHold",
    "Deactivated",
    "ReservedForPreemptor",
    "Draining",
    "BudgetExhausted",
    "NoClusterAccepts",
]
"""Why a workload waits: Kueue's reasons of QuotaReserved=False, and at the end Tidegate's own."""
PreemptionReason = Literal[
    "InClusterQueue",
    "InCohortReclamation",
    "InCohortFairSharing",
    "InCohortReclaimWhileBorrowing",
    "FlavorMigration",  # for a variant of itself on a better flavor
]
"""Why a workload is preempted for another."""


class FlavorTried(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One flavor-resource that was tried for a podset, in base units."""

    podset: str
    flavor: str
    resource: str
    requested: int = 0
    unused: int = 0  # available to the ClusterQueue now, its cohort included; may be negative
    maximum: int = 0  # the most that could ever be available to it
    reason: str = ""  # why the flavor did not fit, e.g. untolerated taint, insufficient quota
    preemptable: int = 0  # used by workloads that it could preempt; 0: none
    guaranteed: int = 0  # used by others within their guaranteed minimum run time


class QuotaReserved(WorkloadDecision, frozen=True, kw_only=True, tag="QuotaReserved/1"):
    """The scheduler reserves quota for a workload: it is charged from this event on."""

    assignment: tuple[PodSetAssignment, ...]
    borrows: int = 0  # height of the smallest cohort subtree that holds it; 0: own quota
    checks: tuple[str, ...] = ()  # admission checks that have to be ready before it may run
    cluster: str = ""  # member cluster in which a placed job's copy runs; empty: not placed


class WorkloadAdmitted(WorkloadDecision, frozen=True, kw_only=True, tag="WorkloadAdmitted/1"):
    """A workload is admitted: quota is reserved, all checks are ready, and its job may start."""

    queue: str = ""  # LocalQueue
    waited_us: int = 0  # since it was queued


class WorkloadPending(WorkloadDecision, frozen=True, kw_only=True, tag="WorkloadPending/1"):
    """A workload was tried and stays pending; repeated when its reason or flavors change."""

    reason: PendingReason
    others: tuple[str, ...] = ()  # further reasons, less specific
    tried: tuple[FlavorTried, ...] = ()
    message: str = ""  # one English sentence
    inadmissible: bool = False  # not tried again until quota is freed
    shape: str = ""  # the scheduling shape, which is inadmissible as a whole
    scan: tuple[dict[str, int], ...] = ()  # by podset: resource to the flavor last tried
    requests: dict[str, dict[str, int]] = {}  # podset to resource to requested base units
    placements: tuple[PlacementTried, ...] = ()  # topologies in which its pods fit on no nodes


class Victim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workload to preempt."""

    workload: str
    uid: str = ""
    cluster_queue: str = ""
    reason: PreemptionReason


class PreemptionIntended(WorkloadDecision, frozen=True, kw_only=True, tag="PreemptionIntended/1"):
    """A workload preempts others, and starts once these victims have stopped."""

    victims: tuple[Victim, ...]
    amounts: dict[str, dict[str, int]] = {}  # flavor to resource to requested base units
    assignment: tuple[PodSetAssignment, ...] = ()


class PreemptionAbandoned(WorkloadDecision, frozen=True, kw_only=True, tag="PreemptionAbandoned/1"):
    """A preemption ends without an admission: the preemptor or the quota changed."""

    reason: str = ""


class WorkloadPreempted(WorkloadDecision, frozen=True, kw_only=True, tag="WorkloadPreempted/1"):
    """A running workload is preempted by another; its WorkloadEvicted follows."""

    by: str  # the preemptor's workload
    by_uid: str = ""
    by_cluster_queue: str = ""
    reason: PreemptionReason
    message: str = ""
    lost_us: int = 0  # how long it ran since it started, or since its checkpoint


class WorkloadEvicted(WorkloadDecision, frozen=True, kw_only=True, tag="WorkloadEvicted/1"):
    """A workload is evicted; its quota stays charged until its job has stopped."""

    reason: str  # Preempted, PodsReadyTimeout, ClusterQueueStopped, …
    cause: str = ""
    message: str = ""
    after_us: int = 0  # when it may be tried again; 0: no time is set
    attempts: int = 0  # requeueState.count from here on; 0: as it was


class QuotaReleased(WorkloadDecision, frozen=True, kw_only=True, tag="QuotaReleased/1"):
    """The quota of a workload is released."""

    reason: str = ""  # Evicted, Held, …


class WorkloadRequeued(WorkloadDecision, frozen=True, kw_only=True, tag="WorkloadRequeued/1"):
    """A workload is queued again, from ``after_us`` on."""

    reason: str = ""
    after_us: int = 0  # 0: at once
    attempts: int = 0  # requeueState.count


class WorkloadDeactivated(WorkloadDecision, frozen=True, kw_only=True, tag="WorkloadDeactivated/1"):
    """A workload is deactivated: it is not tried until a user sets spec.active to true."""

    reason: str
    message: str = ""


class WorkloadExpired(WorkloadDecision, frozen=True, kw_only=True, tag="WorkloadExpired/1"):
    """The retention time of a workload is over: the actuator may delete its object."""

    reason: str = ""
    job: ObjectRef | None = None


class StartOrdered(WorkloadDecision, frozen=True, kw_only=True, tag="StartOrdered/1"):
    """The actuator has to start the job: inject these placements and unsuspend it."""

    job: ObjectRef
    podsets: tuple[PodSetStart, ...] = ()
    generation: int = 0  # the job's, when this was decided


class StopOrdered(WorkloadDecision, frozen=True, kw_only=True, tag="StopOrdered/1"):
    """The actuator has to stop the job: suspend it and restore its template."""

    job: ObjectRef
    reason: str = ""
    message: str = ""
    podsets: tuple[PodSetStart, ...] = ()  # what its start injected, and its present pod counts


class OrderReissued(WorkloadDecision, frozen=True, kw_only=True, tag="OrderReissued/1"):
    """A job does not match the decision: the next event repeats its start or stop."""

    order: Literal["start", "stop"]
    since_us: int = 0
    attempt: int = 0


class ReservationRepeated(WorkloadDecision, frozen=True, kw_only=True, tag="ReservationRepeated/1"):
    """A Workload may lack its reservation: repeats all that the Workload has to show."""

    job: ObjectRef
    queue: str = ""  # LocalQueue
    priority_class: str = ""
    pod_priority_class: str = ""
    priority: int | None = None
    max_execution_s: int = 0
    assignment: tuple[PodSetAssignment, ...] = ()
    checks: tuple[str, ...] = ()
    admitted: bool = False  # it waits for no check any more
    attempt: int = 1


class VariantCreated(WorkloadDecision, frozen=True, kw_only=True, tag="VariantCreated/1"):
    """A variant is created: a workload that tries its parent's job on one flavor."""

    parent: str
    flavor: str
    submission: WorkloadSubmitted  # the variant as if it had been submitted


class VariantDeleted(WorkloadDecision, frozen=True, kw_only=True, tag="VariantDeleted/1"):
    """A variant is deleted: the job is no longer tried on its flavor."""

    parent: str
    flavor: str
    last: bool = False  # the parent has no other variant, and is queued itself from here on


class VariantUngated(WorkloadDecision, frozen=True, kw_only=True, tag="VariantUngated/1"):
    """The preemption gate of a variant opens: the variant may preempt other workloads."""

    parent: str


DecisionEvent: TypeAlias = (
    QuotaReserved
    | WorkloadAdmitted
    | WorkloadPending
    | PreemptionIntended
    | PreemptionAbandoned
    | WorkloadPreempted
    | WorkloadEvicted
    | QuotaReleased
    | WorkloadRequeued
    | WorkloadDeactivated
    | WorkloadExpired
    | StartOrdered
    | StopOrdered
    | OrderReissued
    | ReservationRepeated
    | VariantCreated
    | VariantDeleted
    | VariantUngated
    | ClusterQueueReadinessChanged
    | ClusterQueueReleased
    | LocalQueueUsageSampled
    | BudgetDecision
    | ClusterDecision
    | CopyOrder
    | TopologyAssigned
    | NodeFailed
    | SecondPassFailed
)
