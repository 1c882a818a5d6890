"""The scheduler's picture of the cluster; ``fold`` is all that changes it.

A state is mutable and private to one owner, because folding a long history on copies costs more
than all else together. Whoever fails halfway throws the state away and folds again.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tidegate.contracts import facts
from tidegate.contracts.decisions import PendingReason, Victim
from tidegate.contracts.observations import JobState
from tidegate.contracts.observations import Stray as Why
from tidegate.core.state.cluster_queues import Forest, Rank, Shape
from tidegate.core.state.deadlines import Deadlines
from tidegate.core.state.dedup import Dedup
from tidegate.model.ids import FlavorResource, ObjectRef
from tidegate.model.podset import PodSet, PodSetAssignment, PodSetUpdate
from tidegate.model.policy import Policy

Phase = Literal["pending", "parent", "reserved", "admitted", "evicting", "inactive", "finished"]
"""``parent``: it is tried by its variants, and never itself."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the actuator was last told to do with a job."""

    kind: Literal["start", "stop"]
    seq: int  # of StartOrdered or StopOrdered
    first: int = 0  # seq of the order that this one repeats; 0: it repeats none
    between: tuple[int, ...] = ()  # seqs of the newest repetitions since then
    at_us: int
    attempt: int = 1


class Stray(msgspec.Struct, kw_only=True, eq=False):
    """An object that no workload stands for and that must not run; private to its state."""

    key: str  # of the workload that it would be
    job: ObjectRef
    resource: str  # whose rounds tell of it
    version: int
    reason: Why
    state: JobState
    order: Order | None = None  # the newest stop that was ordered


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the actuator could not do what it was told."""

    reason: str
    decision_seq: int  # of the order that it failed at
    at_us: int


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Why a workload was last said to wait: see ``tidegate.core.nomination.explain.stands``."""

    reason: PendingReason
    others: tuple[str, ...] = ()
    tried: tuple[tuple[str, str, str, str], ...] = ()  # podset, flavor, resource, reason
    asked: tuple[int, ...] = ()  # of each of these, in base units
    requests: bytes = b""  # see ``tidegate.core.quota.charging.requests_digest``
    parked: bool = False


class CheckState(msgspec.Struct, frozen=True, kw_only=True):
    """What an admission check's controller last said of a workload."""

    state: str  # Pending, Ready, Retry or Rejected
    message: str = ""
    requeue_after_s: int = 0
    at_us: int = 0
    updates: tuple[PodSetUpdate, ...] = ()


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A preemption that was issued: its victims leave, and what they free is kept for it."""

    workload: str
    cluster_queue: str
    victims: tuple[Victim, ...]
    assignment: tuple[PodSetAssignment, ...]
    charges: tuple[tuple[FlavorResource, int], ...]  # of that assignment
    seq: int
    void: str = ""  # why it no longer stands, until that is decided


class LocalUsage(msgspec.Struct, kw_only=True):
    """What a LocalQueue has consumed, for admission fair sharing; see behaviour.md 11."""

    consumed: dict[str, str] = {}  # resource to natural units, decimal text
    updated_us: int = 0
    penalties: dict[str, dict[str, str]] = {}  # workload to what its admission will add


class Workload(msgspec.Struct, kw_only=True, eq=False):
    """One workload as asked for, as decided and as observed; private to its state."""

    key: str  # "<namespace>/<name>"
    uid: str
    job: ObjectRef
    version: int = 0
    resource: str = ""  # whose rounds tell of its job, e.g. "jobs.batch"
    # what is asked for
    queue: str = ""  # LocalQueue's name, in the workload's namespace
    priority_class: str = ""
    pod_priority_class: str = ""
    own_priority: int | None = None
    priority_boost: int = 0
    created_us: int = 0
    podsets: tuple[PodSet, ...] = ()
    active: bool = True
    max_execution_s: int = 0
    reclaimable: dict[str, int] = {}
    gates: tuple[str, ...] = ()
    preemption_gates: tuple[str, ...] = ()  # closed: it may start, but evict nobody
    allowed_flavors: tuple[str, ...] | None = None  # None: any flavor of its ClusterQueue
    replaces: str = ""  # elastic jobs: the workload whose slice this one takes over
    variant_of: str = ""  # one of several tried at once: the Workload that they are variants of
    parent: str = ""  # whose variant it is, if that was made here: the job's own workload
    prebuilt: str = ""  # the Workload that its owner made for it; empty: one is made from the job
    elastic: bool = False  # its pods may become more or fewer while it runs
    author: str = ""
    # what was decided
    phase: Phase = "pending"
    cluster_queue: str = ""  # whose quota it waits for or holds; empty: its queue leads nowhere
    priority: int = 0  # resolved, boost included
    assignment: tuple[PodSetAssignment, ...] = ()
    reserved_us: int = 0
    admitted_us: int = 0
    evicted_reason: str = ""  # of the newest eviction; stays until the next reservation
    evicted_us: int = 0
    preempted_reason: str = ""
    preempted_us: int = 0
    requeue_after_us: int = 0  # backing off until then; 0: not
    requeue_count: int = 0
    deactivated_cause: str = ""  # why it was deactivated, if nobody did it by hand
    requeue_reason: str = ""  # why it waits though it may be active: its queue was stopped, …
    displaced_seq: int = 0  # when it was last preempted; 0: not since it last held quota
    made_way_for: str = ""  # the workload that preempted it and has not had its turn yet
    held: Held | None = None  # what was last said of why it waits
    parked: bool = False  # alone, until something frees quota
    scan: tuple[dict[str, int], ...] = ()  # by podset: resource to the flavor last tried
    scan_cycle: int = 0  # the cycle of that
    scan_seq: int = 0  # the event of that
    checks: dict[str, CheckState] = {}
    guaranteed: bool = False  # it ever had a guaranteed time
    timed: bool = False  # it ever had a deadline of the families that timing sets
    asked: int = 0  # how often its reservation was told again
    asked_us: int = 0
    checks_seq: int = 0  # the event since which their controllers' words count; 0: from the start
    stopped: bool = False  # the stop that was ordered last is proven
    executed_us: int = 0  # admitted before, for the maximum execution time
    order: Order | None = None
    variants: tuple[str, ...] = ()  # of a parent: the workloads that it is tried by
    acting: str = ""  # of a parent: the variant that holds quota, for which the job runs
    # what was observed
    state: JobState = JobState()
    state_us: int = 0  # when it last changed
    checkpoint_us: int = 0  # when it last saved its work; never after it said so
    resumed_us: int = 0  # when it was last seen to run again after it had been suspended
    mismatch: str = ""  # in what its job differs from what is charged; empty: in nothing
    ready: bool = False  # all pods were ready when last told
    ready_us: int = 0  # when that last changed
    recovering: bool = False  # its pods were all ready in this run, and are not any more
    expired: bool = False  # its retention is over, and its object was ordered to go
    held_quota: bool = False  # another controller had reserved quota when it was first seen
    failure: Failure | None = None  # of the order that stands
    repeated: int = 0  # how often the order that stands was given again
    finished_us: int = 0
    out_of_sync: bool = False  # it is over because its job asks for something else
    failed_nodes: tuple[str, ...] = ()  # whose pods need another place: status.unhealthyNodes
    successor: str = ""  # elastic jobs: the workload whose slice is to take this one over
    # what is derived from all that, and in no snapshot
    never_preempts: bool = False  # its PriorityClass says so
    requests: tuple[dict[str, int], ...] | None = None  # of one pod of each podset
    charges: tuple[tuple[FlavorResource, int], ...] = ()  # while it holds quota
    rank: Rank = (0, 0, "", "", 0)  # where it stands in its queue
    shape: Shape | None = None  # where it is queued; None: nowhere

    @property
    def local_queue(self) -> str:
        """Return ``<namespace>/<name>`` of the LocalQueue that it names."""
        return self.key.partition("/")[0] + "/" + self.queue

    def __lt__(self, other: Workload) -> bool:
        """Order heap entries of one rank: who left and came back left an outdated one behind."""
        return self.key < other.key


class Round(msgspec.Struct, kw_only=True):
    """How far the lists of one resource got."""

    session: str = ""
    completed: int = 0  # newest completed round of that session; 0: none yet
    list_version: int = 0
    stale: bool = False  # something was lost since: it is told once that it is complete again


class Stop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who set a queue's stopPolicy, and when."""

    at_us: int
    by: str = ""  # empty: nobody noted who wrote it


class Objects(msgspec.Struct, kw_only=True):
    """Definitions as the cluster has them, by name or by "<namespace>/<name>"."""

    cluster_queues: dict[str, facts.ClusterQueueDefined] = {}
    cohorts: dict[str, facts.CohortDefined] = {}
    flavors: dict[str, facts.FlavorDefined] = {}
    local_queues: dict[str, facts.LocalQueueDefined] = {}
    workload_priority_classes: dict[str, facts.WorkloadPriorityClassDefined] = {}
    priority_classes: dict[str, facts.PriorityClassDefined] = {}
    namespaces: dict[str, facts.NamespaceDefined] = {}
    limit_ranges: dict[str, facts.LimitRangeDefined] = {}
    runtime_classes: dict[str, facts.RuntimeClassDefined] = {}
    checks: dict[str, facts.CheckDefined] = {}
    topologies: dict[str, facts.TopologyDefined] = {}
    nodes: dict[str, facts.NodeDefined] = {}
    node_pods: dict[str, facts.NodePodsReported] = {}  # by the node's name
    stops: dict[str, Stop] = {}  # of ClusterQueues by name, of LocalQueues by "<namespace>/<name>"
    removed_queues: dict[str, facts.ClusterQueueDefined] = {}
    """ClusterQueues that are gone and charged for whoever ran there; see docs/adr/0012."""

    def charged_queue(self, name: str) -> facts.ClusterQueueDefined | None:
        """Return a ClusterQueue that is there, or is gone and still charged for somebody."""
        return self.cluster_queues.get(name) or self.removed_queues.get(name)


class State(msgspec.Struct, kw_only=True):
    """Everything that folding a ledger gives."""

    seq: int = 0  # of the newest event folded
    now_us: int = 0  # the newest time an event has told: the core reads no clock
    ledger_id: str = ""
    cluster: str = "local"
    cluster_uid: str = ""  # of the Namespace kube-system
    policy: Policy = Policy()
    objects: Objects = msgspec.field(default_factory=Objects)
    workloads: dict[str, Workload] = {}
    by_uid: dict[str, str] = {}  # a job's uid to its workload's key
    strays: dict[str, Stray] = {}  # by uid: what must not run, though it is no workload's job
    passed_over: int = 0  # entries that make no sense
    expected: tuple[str, ...] | None = None  # resources that must complete a first round
    rounds: dict[str, Round] = {}  # by resource
    skew_us: int = 0  # how far the bus's clock is ahead of ours, since a step that was not followed
    deadlines: Deadlines = msgspec.field(default_factory=Deadlines)
    cycle: int = 0  # the newest scheduling cycle that an event told of
    redefined_seq: int = 0  # when a queue, cohort or flavor last changed
    intents: dict[str, Intent] = {}  # by preemptor, the oldest first
    sticky: dict[str, str] = {}  # Kueue's: ClusterQueue to the workload that sorts first in it
    readiness: dict[str, tuple[bool, str, str]] = {}  # ClusterQueue to what was last told of it
    local_usage: dict[str, LocalUsage] = {}  # "<namespace>/<LocalQueue>" to what it has consumed
    by_queue: dict[str, dict[str, None]] = {}  # "<namespace>/<LocalQueue>" to its workloads
    forest: Forest = msgspec.field(default_factory=Forest)  # derived: in no snapshot
    heard: Dedup = msgspec.field(default_factory=Dedup)  # not folded: in no snapshot
