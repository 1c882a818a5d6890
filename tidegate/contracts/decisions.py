"""Decisions: events of the ledger that the core chose."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tidegate.contracts.decision_kinds.budgets import BudgetDecision
from tidegate.contracts.decision_kinds.clusters import ClusterDecision
from tidegate.contracts.decision_kinds.placements import (
    NodeFailed,
    PlacementTried,
    SecondPassFailed,
    TopologyAssigned,
)
from tidegate.contracts.decision_kinds.queue_decisions import (
    ClusterQueueReadinessChanged as ClusterQueueReadinessChanged,  # noqa: PLC0414 - decisions too
)
from tidegate.contracts.decision_kinds.queue_decisions import (
    ClusterQueueReleased as ClusterQueueReleased,  # noqa: PLC0414
)
from tidegate.contracts.decision_kinds.queue_decisions import Decision as Decision  # noqa: PLC0414
from tidegate.contracts.decision_kinds.queue_decisions import (
    LocalQueueUsageSampled as LocalQueueUsageSampled,  # noqa: PLC0414
)
from tidegate.contracts.decision_kinds.queue_decisions import SampledUsage as SampledUsage  # noqa: PLC0414
from tidegate.contracts.decision_kinds.queue_decisions import WorkloadDecision as WorkloadDecision  # noqa: PLC0414
from tidegate.contracts.decision_kinds.starts import PodSetStart as PodSetStart  # noqa: PLC0414 - part of orders
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
    asked: int = 0
    free: int = 0  # available to the ClusterQueue now, its cohort included; may be negative
    allowed: int = 0  # the most that could ever be available to it
    reason: str = ""  # why the flavor did not do, e.g. untolerated taint, insufficient quota
    preemptable: int = 0  # used by workloads that it could preempt; 0: none
    guaranteed: int = 0  # what others hold within their guaranteed minimum run time


class QuotaReserved(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="QuotaReserved/1"
):
    """Quota is charged for a workload from here on."""

    assignment: tuple[PodSetAssignment, ...]
    borrows: int = 0  # height of the smallest cohort subtree that holds it; 0: own quota
    checks: tuple[str, ...] = ()  # admission checks that have to be ready before it may run


class WorkloadAdmitted(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadAdmitted/1"
):
    """Quota is reserved and all checks are ready: it may run."""

    queue: str = ""  # LocalQueue
    waited_us: int = 0  # since it was queued


class WorkloadPending(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadPending/1"
):
    """A workload was tried and stays pending; repeated only when reason or flavors change."""

    reason: PendingReason
    others: tuple[str, ...] = ()  # further reasons, less specific
    tried: tuple[FlavorTried, ...] = ()
    message: str = ""  # one English sentence
    parked: bool = False  # out of the running until something frees quota
    shape: str = ""  # the scheduling shape that was parked with it
    scan: tuple[dict[str, int], ...] = ()  # by podset: resource to the flavor last tried
    requests: dict[str, dict[str, int]] = {}  # podset to resource to base units that it asks for
    placements: tuple[PlacementTried, ...] = ()  # where its pods found no place


class Victim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workload to preempt."""

    workload: str
    uid: str = ""
    cluster_queue: str = ""
    reason: PreemptionReason


class PreemptionIntended(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="PreemptionIntended/1"
):
    """A workload will start once its victims have left; until then the intent stands."""

    victims: tuple[Victim, ...]
    amounts: dict[str, dict[str, int]] = {}  # flavor to resource to base units it asks for
    assignment: tuple[PodSetAssignment, ...] = ()


class PreemptionAbandoned(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="PreemptionAbandoned/1"
):
    """An intent ends without an admission: the preemptor left or changed, or quota changed."""

    reason: str = ""


class WorkloadPreempted(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadPreempted/1"
):
    """A running workload must leave for another; its WorkloadEvicted follows."""

    by: str  # the preemptor's workload
    by_uid: str = ""
    by_cluster_queue: str = ""
    reason: PreemptionReason
    message: str = ""
    lost_us: int = 0  # how long it ran since it started, or since its checkpoint


class WorkloadEvicted(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadEvicted/1"
):
    """It must stop; its quota stays charged until the stop is proven."""

    reason: str  # Preempted, PodsReadyTimeout, ClusterQueueStopped, …
    cause: str = ""
    message: str = ""
    after_us: int = 0  # when it may be tried again; 0: no time is set
    attempts: int = 0  # requeueState.count from here on; 0: as it was


class QuotaReleased(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="QuotaReleased/1"
):
    """Its quota is free again."""

    reason: str = ""  # Evicted, Held, …


class WorkloadRequeued(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadRequeued/1"
):
    """It waits in its queue again, from ``after_us`` on."""

    reason: str = ""
    after_us: int = 0  # 0: at once
    attempts: int = 0  # requeueState.count


class WorkloadDeactivated(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadDeactivated/1"
):
    """It will not be tried until spec.active is set to true."""

    reason: str
    message: str = ""


class WorkloadExpired(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadExpired/1"
):
    """Its retention is over: the object may be deleted."""

    reason: str = ""
    job: ObjectRef | None = None


class StartOrdered(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="StartOrdered/1"
):
    """The actuator shall unsuspend the job with these placements."""

    job: ObjectRef
    podsets: tuple[PodSetStart, ...] = ()
    generation: int = 0  # the job's, when this was decided


class StopOrdered(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="StopOrdered/1"
):
    """The actuator shall suspend the job and restore its template."""

    job: ObjectRef
    reason: str = ""
    message: str = ""
    podsets: tuple[PodSetStart, ...] = ()  # what its start put in, and the pods that it asks for


class OrderReissued(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="OrderReissued/1"
):
    """The job has differed from the decision too long; start or stop is re-issued."""

    order: Literal["start", "stop"]
    since_us: int = 0
    attempt: int = 0


class ReservationRepeated(
    WorkloadDecision, frozen=True, kw_only=True, omit_defaults=True, tag="ReservationRepeated/1"
):
    """A reservation that was not seen on its Workload, or may be lost there: all it shall show."""

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
    """A job is tried on one flavor by a workload of its own; the job's own is its parent."""

    parent: str
    flavor: str
    asked: WorkloadSubmitted  # what it asks for, as if it had been submitted


class VariantDeleted(WorkloadDecision, frozen=True, kw_only=True, tag="VariantDeleted/1"):
    """A job is tried on a flavor no more: the workload that did is gone."""

    parent: str
    flavor: str
    last: bool = False  # the parent has no other, and is tried itself from here on


class VariantUngated(WorkloadDecision, frozen=True, kw_only=True, tag="VariantUngated/1"):
    """From here on a variant may preempt others, as one of its siblings may not yet."""

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
    | TopologyAssigned
    | NodeFailed
    | SecondPassFailed
)
