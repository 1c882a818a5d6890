"""Observations: one Kubernetes object each, reduced to the fields that a decision can depend on.

Every object's observation has its uid, resourceVersion (compared as an integer), ingest's session
and, if it was listed, the round of that list; 0 means that a watch reported it.
"""

# pyright: reportUnusedImport=false
from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.contracts.observed.clusters import ClusterObserved, CopySeen, RemoteObserved
from tidegate.contracts.observed.handovers import HandoverObserved
from tidegate.contracts.observed.jobs import CheckSeen, JobState, Observed, Placed, Stray
from tidegate.contracts.observed.nodes import NodeObserved, NodePodsObserved, TopologyObserved
from tidegate.model.ids import ObjectRef
from tidegate.model.multikueue import CheckParameters
from tidegate.model.podset import PodSet
from tidegate.model.policy import Policy
from tidegate.model.quota import ClusterQueueSpec, CohortSpec, FlavorSpec, LocalQueueSpec, Price
from tidegate.model.topology import TopologyAssignment


class JobObserved(Observed, frozen=True, kw_only=True, tag="JobObserved/1"):
    """A job of any kind, including a Workload created directly (kind ``workload``)."""

    kind: str  # e.g. "batch/job"
    workload: str  # "<namespace>/<Workload's name>", derived from the job's identity
    queue: str = ""  # LocalQueue; empty: not managed
    priority_class: str = ""  # WorkloadPriorityClass
    pod_priority_class: str = ""  # the kind's own choice, when no WorkloadPriorityClass is named
    priority: int | None = None  # a direct Workload's own
    created_us: int = 0
    podsets: tuple[PodSet, ...] = ()
    active: bool = True  # spec.active of a direct Workload
    max_execution_s: int = 0  # 0: no maximum
    reclaimable: dict[str, int] = {}  # podset to pods that have finished
    finished: str = ""  # Succeeded, Failed or a special reason; empty: not finished
    message: str = ""  # of the finish
    left_open: bool = False  # it is finished, but its Workload is not
    author: str = ""  # annotation tidegate.dev/author
    priority_boost: int = 0
    gates: tuple[str, ...] = ()  # admission-gated-by
    preemption_gates: tuple[str, ...] = ()  # closed: it may start, but not preempt
    allowed_flavors: tuple[str, ...] | None = None  # None: any flavor of its ClusterQueue
    replaces: str = ""  # elastic jobs: the workload slice that this one replaces
    variant_of: str = ""  # concurrent admission: the Workload of which this is a variant
    prebuilt: str = ""  # the Workload that the job's owner created; empty: created from the job
    elastic: bool = False  # the number of its pods may change while it runs
    ungated: bool = False  # elastic: it runs, and its new pods have no scheduling gate
    held_quota: bool = False  # its Workload has another controller's QuotaReserved=True
    held_places: dict[str, TopologyAssignment] = {}  # podset to the nodes that one assigned
    checks: tuple[CheckSeen, ...] = ()  # of its Workload's status, by name
    checks_since: str = ""  # the reset that they follow, "<ledger id>/<seq>"; empty: none observed
    nominated: tuple[str, ...] = ()  # its Workload's status.nominatedClusterNames
    deactivated: str = ""  # the decision that last set active to false; empty: none
    stray: Stray | None = None  # why it may not run without a workload; None: it may
    body: str = ""
    """Of a job that runs only as a copy (``spec.managedBy: tidegate.dev/placed``): SHA-256, in
    hexadecimal, of its body, which ingest stores before it publishes this; empty: any other job."""
    copy: CopySeen | None = None  # it is the copy of a placed job; None: any other job
    state: JobState = JobState()


class ClusterQueueObserved(Placed, frozen=True, kw_only=True, tag="ClusterQueueObserved/1"):
    """A ClusterQueue."""

    spec: ClusterQueueSpec
    created_us: int = 0
    deleting: bool = False
    author: str = ""
    statement: str = ""  # annotation tidegate.dev/statement, "<month>=<SHA-256>"


class CohortObserved(Placed, frozen=True, kw_only=True, tag="CohortObserved/1"):
    """A Cohort."""

    spec: CohortSpec
    author: str = ""


class LocalQueueObserved(Observed, frozen=True, kw_only=True, tag="LocalQueueObserved/1"):
    """A LocalQueue."""

    spec: LocalQueueSpec
    deleting: bool = False
    author: str = ""
    labels: dict[str, str] = {}  # those that the configuration selects by


class FlavorObserved(Observed, frozen=True, kw_only=True, tag="FlavorObserved/1"):
    """A ResourceFlavor."""

    spec: FlavorSpec
    author: str = ""
    prices: tuple[Price, ...] = ()  # annotation tidegate.dev/price


class WorkloadPriorityClassObserved(
    Observed, frozen=True, kw_only=True, tag="WorkloadPriorityClassObserved/1"
):
    """A WorkloadPriorityClass."""

    value: int


class PriorityClassObserved(Observed, frozen=True, kw_only=True, tag="PriorityClassObserved/1"):
    """A PriorityClass."""

    value: int
    is_default: bool = False  # globalDefault
    never_preempts: bool = False  # preemptionPolicy: Never


class NamespaceObserved(Observed, frozen=True, kw_only=True, tag="NamespaceObserved/1"):
    """A Namespace."""

    labels: dict[str, str] = {}


class LimitRangeItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of a LimitRange; quantities as written."""

    type: str  # Container, Pod or PersistentVolumeClaim
    max: dict[str, str] = {}
    min: dict[str, str] = {}
    default: dict[str, str] = {}
    default_request: dict[str, str] = {}
    max_ratio: dict[str, str] = {}


class LimitRangeObserved(Observed, frozen=True, kw_only=True, tag="LimitRangeObserved/1"):
    """A LimitRange."""

    items: tuple[LimitRangeItem, ...] = ()


class RuntimeClassObserved(Observed, frozen=True, kw_only=True, tag="RuntimeClassObserved/1"):
    """A RuntimeClass."""

    overhead: dict[str, str] = {}


class CheckObserved(Observed, frozen=True, kw_only=True, tag="CheckObserved/1"):
    """An AdmissionCheck."""

    controller: str
    active: bool = False
    parameters: CheckParameters | None = None


class PolicyObserved(Observed, frozen=True, kw_only=True, tag="PolicyObserved/1"):
    """The controller's configuration, sent by the scheduler when it starts with a new one."""

    policy: Policy
    rules: tuple[str, ...] = ()  # operators' own rules, "<name>@<version>"


class ObjectGone(Observed, frozen=True, kw_only=True, tag="ObjectGone/1"):
    """A watch reported the deletion of an object."""

    resource: str  # as in SyncCompleted


class ObjectRefused(Observed, frozen=True, kw_only=True, tag="ObjectRefused/1"):
    """ingest could not read an object, or ignores it for a reason; the others are not affected."""

    resource: str
    error: str
    reason: str = "Unreadable"  # of the Kubernetes Event on the object
    job: JobObserved | None = None  # if it has a queue name: its identity and state


class SyncStarted(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="SyncStarted/1"
):
    """A list of one resource begins."""

    resource: str
    session: str
    round: int
    cluster_uid: str = ""  # of the Namespace kube-system; empty: not known


class SyncCompleted(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="SyncCompleted/1"
):
    """A list of one resource ended; these objects are present, in pieces of at most 1,000."""

    resource: str  # e.g. "jobs.batch", "clusterqueues.kueue.x-k8s.io"
    session: str
    round: int
    list_version: int
    present: tuple[str, ...] = ()  # uids
    piece: int = 1  # from 1
    pieces: int = 1


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="Heartbeat/1"):
    """The watches are open: the only clock; its time is the NATS timestamp of the message."""

    session: str
    beat: int  # this session's counter, one a second
    resources: tuple[str, ...] = ()  # watched by this session; decisions wait for a round of each


class Probe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="Probe/1"):
    """The scheduler tests whether the stream stores messages; no fact follows."""


class ActuationReported(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="ActuationReported/1"
):
    """The actuator could not carry out an order."""

    job: ObjectRef
    workload: str
    decision: str  # "<ledger id>/<seq>"
    reason: str  # stale, gone, conflict, invalid, forbidden, unreachable, BodyMissing, NameTaken
    message: str = ""
    origin: str = ""  # orders about a copy: that order's ``uid``


Observation: TypeAlias = (
    JobObserved
    | ClusterQueueObserved
    | CohortObserved
    | LocalQueueObserved
    | FlavorObserved
    | WorkloadPriorityClassObserved
    | PriorityClassObserved
    | NamespaceObserved
    | LimitRangeObserved
    | RuntimeClassObserved
    | CheckObserved
    | TopologyObserved
    | NodeObserved
    | NodePodsObserved
    | ClusterObserved
    | RemoteObserved
    | HandoverObserved
    | PolicyObserved
    | ObjectGone
    | ObjectRefused
    | SyncStarted
    | SyncCompleted
    | Heartbeat
    | Probe
    | ActuationReported
)
