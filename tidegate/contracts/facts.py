"""Facts: events of the ledger that report observations which changed something, or the time."""

# pyright: reportUnusedImport=false
from __future__ import annotations

from typing import TypeAlias

from tidegate.contracts.fact_kinds.clusters import ClusterFact, CopyEvent
from tidegate.contracts.fact_kinds.definitions import (
    CheckDefined,
    CheckRemoved,
    ClusterQueueDefined,
    ClusterQueueRemoved,
    CohortDefined,
    CohortRemoved,
    DefinitionFact,
    Event,
    Fact,
    FlavorDefined,
    FlavorRemoved,
    LedgerOpened,
    LimitRangeDefined,
    LimitRangeRemoved,
    LocalQueueDefined,
    LocalQueueRemoved,
    Named,
    NamespaceDefined,
    NamespaceRemoved,
    NodeDefined,
    NodePodsCleared,
    NodePodsReported,
    NodeRemoved,
    PolicyConfigured,
    PriorityClassDefined,
    PriorityClassRemoved,
    RuntimeClassDefined,
    RuntimeClassRemoved,
    TopologyDefined,
    TopologyRemoved,
    WorkloadPriorityClassDefined,
    WorkloadPriorityClassRemoved,
)
from tidegate.contracts.fact_kinds.handovers import HandoverFact
from tidegate.contracts.fact_kinds.reception import (
    ClockSkewed,
    GapObserved,
    ObservationRefused,
    ReceptionFact,
    RoundCompleted,
    RoundStarted,
    StreamReplaced,
    TimePassed,
    WatchesExpected,
)
from tidegate.contracts.fact_kinds.strays import StrayCleared, StrayFact, StrayReported
from tidegate.contracts.observations import JobState
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSet, PodSetAssignment, PodSetUpdate
from tidegate.model.topology import TopologyAssignment


class WorkloadFact(Fact, frozen=True, kw_only=True):
    """A fact about one workload."""

    workload: str
    uid: str = ""  # of the job, or of the Workload if that was created directly


class WorkloadSubmitted(WorkloadFact, frozen=True, kw_only=True, tag="WorkloadSubmitted/1"):
    """A job is queued for the first time."""

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
    preemption_gates: tuple[str, ...] = ()  # closed: it may start, but not preempt
    allowed_flavors: tuple[str, ...] | None = None  # None: any flavor of its ClusterQueue
    replaces: str = ""  # elastic jobs: the workload slice that this one replaces
    state: JobState = JobState()
    variant_of: str = ""  # concurrent admission: the Workload of which this is a variant
    prebuilt: str = ""  # the Workload that the job's owner created; empty: created from the job
    elastic: bool = False  # the number of its pods may change while it runs
    resource: str = ""  # of the watch that reads the job, e.g. "jobs.batch"
    body: str = ""  # of a job that runs as a copy only: see ``JobObserved.body``
    held_quota: bool = False  # another controller had reserved quota for it
    held_places: dict[str, TopologyAssignment] = {}  # podset to the nodes that one had assigned


class WorkloadChanged(WorkloadFact, frozen=True, kw_only=True, tag="WorkloadChanged/1"):
    """A job's request changed; has the complete new request, as in WorkloadSubmitted."""

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
    preemption_gates: tuple[str, ...] = ()  # closed: it may start, but not preempt
    allowed_flavors: tuple[str, ...] | None = None  # None: any flavor of its ClusterQueue
    replaces: str = ""  # elastic jobs: the workload slice that this one replaces
    elastic: bool = False  # a scale-down lowers its charge while it runs
    has_variants: bool = False
    body: str = ""  # see ``JobObserved.body``
    held_quota: bool = False  # another controller had reserved quota for it
    held_places: dict[str, TopologyAssignment] = {}  # podset to the nodes that one had assigned


class WorkloadRemoved(WorkloadFact, frozen=True, kw_only=True, tag="WorkloadRemoved/1"):
    """A job was deleted, or is no longer managed or watched; its quota is released."""

    version: int = 0
    reason: str = ""  # NotWatched: its kind was disabled, or its CRD removed


class WorkloadAdopted(WorkloadFact, frozen=True, kw_only=True, tag="WorkloadAdopted/1"):
    """A job ran before the first lists were complete: it is charged, even above quota."""

    cluster_queue: str
    assignment: tuple[PodSetAssignment, ...]
    cluster: str = ""  # placed jobs: the cluster in which the copy runs; empty: not placed
    admitted_us: int = 0  # when another partition had admitted it; 0: at_us
    executed_us: int = 0  # earlier run time, for the maximum execution time


class JobStateReported(WorkloadFact, frozen=True, kw_only=True, tag="JobStateReported/1"):
    """The state of a job changed (suspended, started, active pods, annotation, generation)."""

    version: int = 0
    state: JobState


class WorkloadStopped(WorkloadFact, frozen=True, kw_only=True, tag="WorkloadStopped/1"):
    """A job has stopped: it has no active pods and carries the stop order's decision."""


class WorkloadMismatched(WorkloadFact, frozen=True, kw_only=True, tag="WorkloadMismatched/1"):
    """The job of a workload with quota differs from the charged request."""

    version: int = 0
    message: str = ""  # how they differ; empty: they agree again


class PodsReadyReported(WorkloadFact, frozen=True, kw_only=True, tag="PodsReadyReported/1"):
    """All pods of a workload are ready, or no longer ready."""

    ready: bool


class PodsReclaimed(WorkloadFact, frozen=True, kw_only=True, tag="PodsReclaimed/1"):
    """Some pods of a workload have finished; their part of the quota is released."""

    reclaimable: dict[str, int]  # podset to the number of pods finished so far


class CheckReported(WorkloadFact, frozen=True, kw_only=True, tag="CheckReported/1"):
    """The controller of an admission check set its state."""

    check: str
    state: str  # Pending, Ready, Retry, Rejected
    message: str = ""
    requeue_after_s: int = 0
    updates: tuple[PodSetUpdate, ...] = ()  # what it injects into the job's template


class WorkloadFinished(WorkloadFact, frozen=True, kw_only=True, tag="WorkloadFinished/1"):
    """The job finished; its quota is released."""

    reason: str = "Succeeded"  # or Failed, …
    message: str = ""
    version: int = 0  # of the finished job's object; 0: not known
    variant_of: str = ""  # variants: the parent workload


class ActuationFailed(WorkloadFact, frozen=True, kw_only=True, tag="ActuationFailed/1"):
    """The actuator could not carry out an order."""

    decision_seq: int
    reason: str
    message: str = ""


FactEvent: TypeAlias = (
    DefinitionFact
    | ClusterFact
    | CopyEvent
    | HandoverFact
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
    | WorkloadMismatched
    | StrayFact
    | ActuationFailed
    | ReceptionFact
)
