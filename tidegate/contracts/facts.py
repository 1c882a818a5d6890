"""Facts: events of the ledger that come from outside, once accepted as news.

Every event begins with ``at_us``, UTC microseconds by the bus's timestamps; it never falls.
``workload`` is "<namespace>/<name>".
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.contracts.observations import JobState, LimitRangeItem
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.policy import Policy
from tidegate.model.quota import ClusterQueueSpec, CohortSpec, FlavorSpec, LocalQueueSpec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Root of what a ledger may hold."""

    at_us: int  # UTC microseconds


class Fact(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Root of the facts; never written itself."""


class Named(Fact, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about one object."""

    name: str
    namespace: str = ""
    uid: str = ""
    version: int = 0  # resourceVersion


class LedgerOpened(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="LedgerOpened/1"):
    """Genesis, or a new identity after a restore behind what had been published."""

    ledger_id: str
    cluster: str = "local"
    software: str = ""  # tidegate's version


class PolicyConfigured(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="PolicyConfigured/1"
):
    """The configuration that decisions depend on from here on."""

    policy: Policy
    rules: tuple[str, ...] = ()


class ClusterQueueDefined(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="ClusterQueueDefined/1"
):
    """A ClusterQueue was made or changed."""

    spec: ClusterQueueSpec
    created_us: int = 0
    deleting: bool = False
    author: str = ""


class ClusterQueueRemoved(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="ClusterQueueRemoved/1"
):
    """A ClusterQueue is gone."""


class CohortDefined(Named, frozen=True, kw_only=True, omit_defaults=True, tag="CohortDefined/1"):
    """A Cohort was made or changed."""

    spec: CohortSpec
    author: str = ""


class CohortRemoved(Named, frozen=True, kw_only=True, omit_defaults=True, tag="CohortRemoved/1"):
    """A Cohort is gone; queues that name it keep an implicit one."""


class LocalQueueDefined(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="LocalQueueDefined/1"
):
    """A LocalQueue was made or changed."""

    spec: LocalQueueSpec
    deleting: bool = False


class LocalQueueRemoved(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="LocalQueueRemoved/1"
):
    """A LocalQueue is gone."""


class FlavorDefined(Named, frozen=True, kw_only=True, omit_defaults=True, tag="FlavorDefined/1"):
    """A ResourceFlavor was made or changed."""

    spec: FlavorSpec


class FlavorRemoved(Named, frozen=True, kw_only=True, omit_defaults=True, tag="FlavorRemoved/1"):
    """A ResourceFlavor is gone."""


class WorkloadPriorityClassDefined(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadPriorityClassDefined/1"
):
    """A WorkloadPriorityClass was made or changed."""

    value: int


class WorkloadPriorityClassRemoved(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadPriorityClassRemoved/1"
):
    """A WorkloadPriorityClass is gone; workloads keep the value they had."""


class PriorityClassDefined(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="PriorityClassDefined/1"
):
    """A PriorityClass was made or changed."""

    value: int
    is_default: bool = False
    never_preempts: bool = False


class PriorityClassRemoved(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="PriorityClassRemoved/1"
):
    """A PriorityClass is gone."""


class NamespaceDefined(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="NamespaceDefined/1"
):
    """A Namespace was made, or its labels changed."""

    labels: dict[str, str] = {}


class NamespaceRemoved(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="NamespaceRemoved/1"
):
    """A Namespace is gone."""


class LimitRangeDefined(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="LimitRangeDefined/1"
):
    """A LimitRange was made or changed."""

    items: tuple[LimitRangeItem, ...] = ()


class LimitRangeRemoved(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="LimitRangeRemoved/1"
):
    """A LimitRange is gone."""


class RuntimeClassDefined(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="RuntimeClassDefined/1"
):
    """A RuntimeClass was made or changed."""

    overhead: dict[str, str] = {}


class RuntimeClassRemoved(
    Named, frozen=True, kw_only=True, omit_defaults=True, tag="RuntimeClassRemoved/1"
):
    """A RuntimeClass is gone."""


class CheckDefined(Named, frozen=True, kw_only=True, omit_defaults=True, tag="CheckDefined/1"):
    """An AdmissionCheck was made or changed."""

    controller: str
    active: bool = False


class CheckRemoved(Named, frozen=True, kw_only=True, omit_defaults=True, tag="CheckRemoved/1"):
    """An AdmissionCheck is gone."""


class WorkloadFact(Fact, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about one workload."""

    workload: str
    uid: str = ""  # of the job, or of the Workload if it was made directly


class WorkloadSubmitted(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadSubmitted/1"
):
    """A job asks for quota for the first time."""

    job: ObjectRef
    version: int = 0
    queue: str = ""  # LocalQueue, in the workload's namespace
    priority_class: str = ""
    pod_priority_class: str = ""
    priority: int | None = None
    created_us: int = 0
    podsets: tuple[PodSet, ...] = ()
    active: bool = True
    max_execution_s: int = 0
    reclaimable: dict[str, int] = {}
    author: str = ""
    priority_boost: int = 0
    gates: tuple[str, ...] = ()
    state: JobState = JobState()


class WorkloadChanged(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadChanged/1"
):
    """What a job asks for changed; the whole of it as it is now, as in WorkloadSubmitted."""

    version: int = 0
    queue: str = ""
    priority_class: str = ""
    pod_priority_class: str = ""
    priority: int | None = None
    podsets: tuple[PodSet, ...] = ()
    active: bool = True
    max_execution_s: int = 0
    author: str = ""
    priority_boost: int = 0
    gates: tuple[str, ...] = ()


class WorkloadRemoved(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadRemoved/1"
):
    """A job is gone: its object was deleted, or it left our management; its quota is free."""

    version: int = 0


class WorkloadAdopted(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadAdopted/1"
):
    """It ran before the first round was complete: charged, even above quota, never stopped for it.

    Follows its WorkloadSubmitted.
    """

    cluster_queue: str
    assignment: tuple[PodSetAssignment, ...]


class JobStateReported(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="JobStateReported/1"
):
    """How the job stands changed (suspended, started, active, our annotation, generation)."""

    version: int = 0
    state: JobState


class WorkloadStopped(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadStopped/1"
):
    """Proof that an ordered stop is done: no active pods, and the order's decision seen."""


class PodsReadyReported(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="PodsReadyReported/1"
):
    """All pods are ready, or no longer."""

    ready: bool


class PodsReclaimed(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="PodsReclaimed/1"
):
    """Pods are done for good; their part of the quota is free."""

    reclaimable: dict[str, int]  # podset to the number done so far


class CheckReported(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="CheckReported/1"
):
    """An admission check's controller spoke."""

    check: str
    state: str  # Pending, Ready, Retry, Rejected
    message: str = ""
    requeue_after_s: int = 0


class WorkloadFinished(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="WorkloadFinished/1"
):
    """The job ended; its quota is free."""

    reason: str = "Succeeded"  # or Failed, …
    message: str = ""


class ActuationFailed(
    WorkloadFact, frozen=True, kw_only=True, omit_defaults=True, tag="ActuationFailed/1"
):
    """The actuator could not do what a decision asked for."""

    decision_seq: int
    reason: str
    message: str = ""


class RoundStarted(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="SyncStarted/1"):
    """Only the first round of a resource, or one after a loss, is told."""

    resource: str
    session: str
    round: int


class RoundCompleted(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="SyncCompleted/1"):
    """A resource was listed to its end; who was not present has been removed before this."""

    resource: str
    session: str
    round: int
    list_version: int


class WatchesExpected(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="WatchesExpected/1"):
    """What ingest watches: nothing is decided before each of these completed a first round."""

    resources: tuple[str, ...]


class GapObserved(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="GapObserved/1"):
    """OBSERVATIONS skipped messages: a resync follows."""

    expected_seq: int
    found_seq: int


class StreamReplaced(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="StreamReplaced/1"):
    """OBSERVATIONS began anew: a resync follows."""

    incarnation: int


class ObservationRefused(
    Fact, frozen=True, kw_only=True, omit_defaults=True, tag="ObservationRefused/1"
):
    """A message or an object could not be read; it is recorded and nothing stops."""

    subject: str
    digest: str  # SHA-256 of the bytes, hex
    error: str
    workload: str = ""  # if the object is a job that can be named


class TimePassed(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="TimePassed/1"):
    """A deadline of the state is due; ``at_us`` is the new time."""


class ClockSkewed(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="ClockSkewed/1"):
    """The bus's clock stepped by more than the heartbeats show: recorded, not followed."""

    told_us: int


FactEvent: TypeAlias = (
    LedgerOpened
    | PolicyConfigured
    | ClusterQueueDefined
    | ClusterQueueRemoved
    | CohortDefined
    | CohortRemoved
    | LocalQueueDefined
    | LocalQueueRemoved
    | FlavorDefined
    | FlavorRemoved
    | WorkloadPriorityClassDefined
    | WorkloadPriorityClassRemoved
    | PriorityClassDefined
    | PriorityClassRemoved
    | NamespaceDefined
    | NamespaceRemoved
    | LimitRangeDefined
    | LimitRangeRemoved
    | RuntimeClassDefined
    | RuntimeClassRemoved
    | CheckDefined
    | CheckRemoved
    | WorkloadSubmitted
    | WorkloadChanged
    | WorkloadRemoved
    | WorkloadAdopted
    | JobStateReported
    | WorkloadStopped
    | PodsReadyReported
    | PodsReclaimed
    | CheckReported
    | WorkloadFinished
    | ActuationFailed
    | RoundStarted
    | RoundCompleted
    | WatchesExpected
    | GapObserved
    | StreamReplaced
    | ObservationRefused
    | TimePassed
    | ClockSkewed
)
