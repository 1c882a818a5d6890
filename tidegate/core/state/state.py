"""The scheduler's state: the cluster as folded from the ledger; only ``fold`` changes it.

A state is mutable and private to one owner, because folding a long history on copies costs more
than all else together. A caller that fails halfway drops the state and folds again.
"""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec

from tidegate.contracts import facts
from tidegate.contracts.decisions import Victim
from tidegate.contracts.fact_kinds.clusters import (
    MultiKueueClusterDefined,
    MultiKueueConfigDefined,
)
from tidegate.contracts.fact_kinds.definitions import QueueElsewhere
from tidegate.contracts.observations import JobState
from tidegate.contracts.observations import Stray as Why
from tidegate.contracts.observed.handovers import (
    MovedCohort,
    MovedQueue,
    RunningWorkload,
    SpentBudget,
)
from tidegate.core.state.budgets import Meter
from tidegate.core.state.cluster_queues import Forest
from tidegate.core.state.deadlines import Deadlines
from tidegate.core.state.dedup import Dedup
from tidegate.core.state.remotes import Copy, RemoteCluster
from tidegate.core.state.strategies import REQUEUE, SCAN, Requeue, Scan
from tidegate.core.state.workload import CheckState, Failure, Order, PendingStatus, Workload
from tidegate.model.ids import FlavorResource, ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.policy import Policy

TAKEN_MAX = 1_000
"""How many taken handovers are remembered, the newest."""
STEP_US_MAX = 300_000_000
"""By how much the bus's clock may differ from ours, in microseconds: more is a broken clock."""
CACHED_MAX = 1_024
"""How many entries a cache may have beyond two for each workload."""
__all__ = [
    "CheckState",
    "Failure",
    "Handover",
    "Intent",
    "LocalUsage",
    "Moves",
    "Objects",
    "Order",
    "PendingStatus",
    "Round",
    "State",
    "Stop",
    "Stray",
    "Workload",
    "decision_fields",
]


class Stray(msgspec.Struct, kw_only=True, eq=False):
    """An object that has no workload and must not run; private to its state."""

    key: str  # of the workload that it would be
    job: ObjectRef
    resource: str  # whose rounds list it
    version: int
    reason: Why
    state: JobState
    order: Order | None = None  # the newest stop that was ordered


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A preemption under way: the quota that its victims free is reserved for the preemptor."""

    workload: str
    cluster_queue: str
    victims: tuple[Victim, ...]
    assignment: tuple[PodSetAssignment, ...]
    charges: tuple[tuple[FlavorResource, int], ...]  # of that assignment
    seq: int
    void: str = ""  # why it is void, until a decision ends it


class LocalUsage(msgspec.Struct, kw_only=True):
    """The consumed usage of a LocalQueue, for admission fair sharing; see behaviour.md 11."""

    consumed: dict[str, str] = {}  # resource to natural units, decimal text
    updated_us: int = 0
    penalties: dict[str, dict[str, str]] = {}  # workload to the usage that its admission adds


class Round(msgspec.Struct, kw_only=True):
    """The newest list of one resource."""

    session: str = ""
    completed: int = 0  # newest completed round of that session; 0: none yet
    list_version: int = 0
    stale: bool = False  # observations were lost since; its next completion is recorded


class Stop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who set a queue's stopPolicy, and when."""

    at_us: int
    by: str = ""  # empty: the author was not recorded


class Objects(msgspec.Struct, kw_only=True):
    """Definitions as the cluster has them, by name or by "<namespace>/<name>"."""

    cluster_queues: dict[str, facts.ClusterQueueDefined] = {}
    cohorts: dict[str, facts.CohortDefined] = {}
    flavors: dict[str, facts.FlavorDefined] = {}
    local_queues: dict[str, facts.LocalQueueDefined] = {}
    workload_priority_classes: dict[str, facts.WorkloadPriorityClassDefined] = {}
    priority_classes: dict[str, facts.PriorityClassDefined] = {}
    namespaces: dict[str, facts.NamespaceDefined] = {}
    member_namespaces: dict[str, dict[str, facts.NamespaceDefined]] = {}  # by cluster, by name
    limit_ranges: dict[str, facts.LimitRangeDefined] = {}
    runtime_classes: dict[str, facts.RuntimeClassDefined] = {}
    checks: dict[str, facts.CheckDefined] = {}
    topologies: dict[str, facts.TopologyDefined] = {}
    multikueue_clusters: dict[str, MultiKueueClusterDefined] = {}
    multikueue_configs: dict[str, MultiKueueConfigDefined] = {}
    nodes: dict[str, facts.NodeDefined] = {}
    node_pods: dict[str, facts.NodePodsReported] = {}  # by the node's name
    stops: dict[str, Stop] = {}  # of ClusterQueues by name, of LocalQueues by "<namespace>/<name>"
    removed_queues: dict[str, facts.ClusterQueueDefined] = {}
    """Deleted ClusterQueues, charged for workloads that run there; see docs/adr/0012."""
    elsewhere: dict[str, QueueElsewhere] = {}
    """ClusterQueues that other partitions decide about, by name; see docs/adr/0027."""

    def charged_queue(self, name: str) -> facts.ClusterQueueDefined | None:
        """Return a ClusterQueue that exists, or is deleted and still charged for workloads."""
        return self.cluster_queues.get(name) or self.removed_queues.get(name)

    def queue_of(self, local_queue: str) -> str:
        """Return the ClusterQueue that a LocalQueue names; empty: there is no such LocalQueue."""
        defined = self.local_queues.get(local_queue)
        return "" if defined is None else defined.spec.cluster_queue


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """A tree that was released, until the other partition confirms that it took it."""

    to: int
    queues: tuple[MovedQueue, ...]
    cohorts: tuple[MovedCohort, ...]
    workloads: tuple[RunningWorkload, ...]
    spent: tuple[SpentBudget, ...] = ()


class Moves(msgspec.Struct, kw_only=True):
    """Trees that are to move to another partition, have left, or have come."""

    asked: dict[str, int] = {}  # "ClusterQueue/a" or "Cohort/a" to the partition to move it to
    released: dict[int, Handover] = {}  # by the seq of TreeReleased: not confirmed yet
    cohorts: dict[str, str] = {}  # Cohorts that were released, to their uids
    taking: dict[str, None] = {}  # ClusterQueues whose jobs are not all listed yet
    to_adopt: dict[str, RunningWorkload] = {}  # by uid: to be adopted once observed
    taken: dict[str, None] = {}  # "<ledger id>/<seq>" of handovers taken, the newest last


class State(msgspec.Struct, kw_only=True):
    """Everything that folding a ledger produces."""

    seq: int = 0  # of the newest event folded
    now_us: int = 0  # the newest time of an event: the core reads no clock
    ledger_id: str = ""
    cluster: str = "local"
    partition: int = 0  # the partition whose ledger this is
    cluster_uid: str = ""  # uid of the Namespace kube-system
    policy: Policy = Policy()
    objects: Objects = msgspec.field(default_factory=Objects)
    workloads: dict[str, Workload] = {}
    by_uid: dict[str, str] = {}  # a job's uid to its workload's key
    copies: dict[str, Copy] = {}  # of placed jobs, by the copy's own uid
    strays: dict[str, Stray] = {}  # by uid: objects without a workload that must not run
    passed_over: int = 0  # entries skipped because they contradict the state
    expected: tuple[str, ...] | None = None  # resources that must complete a first round
    rounds: dict[str, Round] = {}  # by resource
    skew_us: int = 0  # how far the bus's clock is ahead of ours, since a step that was not followed
    deadlines: Deadlines = msgspec.field(default_factory=Deadlines)
    cycle: int = 0  # the newest scheduling cycle in an event
    redefined_seq: int = 0  # when a queue, cohort or flavor last changed
    intents: dict[str, Intent] = {}  # by preemptor, the oldest first
    generations: dict[str, int] = {}  # Kueue's: see ``tidegate.core.quota.generations``
    sticky: dict[str, str] = {}  # Kueue's: ClusterQueue to the workload that sorts first in it
    readiness: dict[str, tuple[bool, str, str]] = {}  # ClusterQueue to what was last recorded of it
    local_usage: dict[str, LocalUsage] = {}  # "<namespace>/<LocalQueue>" to what it has consumed
    remote_clusters: dict[str, RemoteCluster] = {}  # by MultiKueueCluster
    member_uids: dict[str, str] = {}  # member cluster to the uid of its Namespace kube-system
    budgets: dict[str, dict[str, Meter]] = {}  # "ClusterQueue/a" or "Cohort/a" to resource
    by_queue: dict[str, dict[str, None]] = {}  # "<namespace>/<LocalQueue>" to its workloads
    groups_by_object: dict[str, dict[int, str]] = {}
    """An object's uid to the workloads of its groups; derived: in no snapshot."""
    moves: Moves = msgspec.field(default_factory=Moves)  # of trees, from partition to partition
    forest: Forest = msgspec.field(default_factory=Forest)  # derived: in no snapshot
    dedup: Dedup = msgspec.field(default_factory=Dedup)  # not folded: in no snapshot

    @property
    def requeue(self) -> Requeue:
        """Return how pending workloads are tried again."""
        return REQUEUE[self.policy.compatibility]

    @property
    def scan(self) -> Scan:
        """Return how flavors and victims are searched."""
        return SCAN[self.policy.compatibility]


def make_room(state: State, cache: dict[Any, Any]) -> None:
    """Empty a cache of what workloads request, if most of it is of workloads that are gone."""
    if len(cache) >= 2 * len(state.workloads) + CACHED_MAX:
        cache.clear()


class DecisionFields(TypedDict):
    """The fields that every decision about a workload has: its time, and the workload."""

    at_us: int
    workload: str
    uid: str
    cluster_queue: str


def decision_fields(state: State, workload: Workload) -> DecisionFields:
    """Return the common fields of a decision about a workload taken now, to be unpacked into it."""
    return {
        "at_us": state.now_us,
        "workload": workload.key,
        "uid": workload.uid,
        "cluster_queue": workload.cluster_queue,
    }
