"""One workload, and the shape that it shares with workloads that scheduling treats alike.

A shape's heap holds its workloads, and each names its shape, so one module defines both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from tidegate.contracts.decisions import PendingReason
from tidegate.contracts.observations import JobState
from tidegate.contracts.phases import Phase
from tidegate.core.quota.tree import Cell
from tidegate.core.state.remotes import Dispatch
from tidegate.core.topology.capacity import Capacity
from tidegate.model.ids import FlavorResource, ObjectRef
from tidegate.model.podset import PodSet, PodSetAssignment, PodSetUpdate
from tidegate.model.quota import FlavorSpec
from tidegate.model.topology import TopologyAssignment

_SECOND_US = 1_000_000

Rank: TypeAlias = tuple[int, int, str, str]
"""A workload's order in its queue: priority negated, queue time, uid, key.

Created anew each time the workload is queued: outdated heap entries are known by its identity.
"""

Scanned: TypeAlias = tuple[tuple[dict[str, int], ...], int, int]
"""By podset, resource to the index of the flavor last tried; the cycle; the seq at that time."""

Constraint: TypeAlias = tuple[Cell | Capacity, int]
"""A ClusterQueue's cell, or a topology's capacity, and the amount requested of it: violated while
less is free."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The newest order to start or stop a job."""

    kind: Literal["start", "stop"]
    seq: int  # of StartOrdered or StopOrdered
    first: int = 0  # seq of the order that this one repeats; 0: it repeats none
    between: tuple[int, ...] = ()  # seqs of the newest repetitions since then
    at_us: int
    attempt: int = 1
    creates: bool = False  # the start creates a copy in a member cluster


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the actuator could not carry out an order."""

    reason: str
    decision_seq: int  # of the order that failed
    at_us: int


class PendingStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Why a workload waits, as last recorded: see ``nomination.explain.is_unchanged``."""

    reason: PendingReason
    others: tuple[str, ...] = ()
    tried: tuple[tuple[str, str, str, str], ...] = ()  # podset, flavor, resource, reason
    requested: tuple[int, ...] = ()  # the amounts of these, in base units
    places: tuple[tuple[str, str], ...] = ()  # podset and flavor on whose nodes it did not fit
    requests: bytes = b""  # see ``tidegate.core.quota.charging.requests_digest``
    inadmissible: bool = False


class CheckState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an admission check that its controller last set on a workload."""

    state: str  # Pending, Ready, Retry or Rejected
    message: str = ""
    requeue_after_s: int = 0
    at_us: int = 0
    updates: tuple[PodSetUpdate, ...] = ()

    @property
    def retry_us(self) -> int:
        """Return when a check in Retry may be tried again, UTC microseconds."""
        return self.at_us + self.requeue_after_s * _SECOND_US


class Workload(msgspec.Struct, kw_only=True, eq=False):
    """One workload as requested, as decided and as observed; private to its state."""

    key: str  # "<namespace>/<name>"
    uid: str
    job: ObjectRef
    version: int = 0
    resource: str = ""  # whose rounds list its job, e.g. "jobs.batch"
    # what is requested
    queue: str = ""  # LocalQueue's name, in the workload's namespace
    priority_class: str = ""
    pod_priority_class: str = ""
    class_known: bool = True  # the class that it names was there, or came since
    own_priority: int | None = None
    priority_boost: int = 0
    created_us: int = 0
    podsets: tuple[PodSet, ...] = ()
    active: bool = True
    max_execution_s: int = 0
    reclaimable: dict[str, int] = {}
    gates: tuple[str, ...] = ()
    preemption_gates: tuple[str, ...] = ()  # closed: it may start, but not preempt
    allowed_flavors: tuple[str, ...] | None = None  # None: any flavor of its ClusterQueue
    replaces: str = ""  # elastic jobs: the workload whose slice this one replaces
    variant_of: str = ""  # the Workload of which this is a variant, tried beside the others
    parent: str = ""  # the job's own workload, if this is a variant that Tidegate created
    prebuilt: str = ""  # the Workload that the job's owner created; empty: created from the job
    elastic: bool = False  # the number of its pods may change while it runs
    author: str = ""
    body: str = ""  # placed jobs: digest of the object that its copy is made from; empty: none
    # what was decided
    phase: Phase = "pending"
    cluster_queue: str = ""  # whose quota it waits for or holds; empty: no such LocalQueue
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
    deactivated_cause: str = ""  # why it was deactivated, if a decision did it and not a user
    requeue_reason: str = ""  # why it waits though it may be active: its queue was stopped, …
    displaced_seq: int = 0  # when it was last preempted; 0: not since it last held quota
    made_way_for: str = ""  # its preemptor, while that has not been processed in a cycle yet
    pending_status: PendingStatus | None = None  # why it waits, as last recorded
    inadmissible: bool = False  # parked alone, until quota is freed
    scan: Scanned | None = None  # kueue mode: how far its flavor scan got; None: to the end
    checks: dict[str, CheckState] = {}
    dispatch: Dispatch | None = None  # to worker clusters; None: it was sent to none
    guaranteed: bool = False  # it has had a guaranteed time
    timed: bool = False  # it has had one of the deadlines of ``folding.workload_deadlines``
    reissues: int = 0  # how often its reservation was published again
    unpublished: bool = False  # not published since the ledger got another name
    recovered: bool = False  # admitted when the ledger got another name, not observed running since
    reissued_us: int = 0
    checks_seq: int = 0  # the event since which check states count; 0: from the start
    stopped: bool = False  # the stop that was ordered last is proven
    executed_us: int = 0  # time admitted in earlier runs, for the maximum execution time
    order: Order | None = None
    cluster: str = ""  # placed jobs: where it holds quota, or did until it finished
    refused: tuple[str, ...] = ()  # clusters in which another object has its copy's name
    variants: tuple[str, ...] = ()  # parents: the keys of its variants
    acting: str = ""  # parents: the variant that holds quota, for which the job runs
    # what was observed
    copies: dict[str, None] = {}  # placed jobs: uids of its copies, in ``State.copies``
    end_shown: str = ""  # placed jobs: the reason of the end that the job at home shows
    end_message: str = ""
    home_gone: bool = False  # the job at home was deleted, or is no longer managed
    state: JobState = JobState()  # placed jobs: of the copy in the cluster where it has quota
    state_us: int = 0  # when ``state`` last changed
    checkpoint_us: int = 0  # when it last saved its work; at most the time of that observation
    resumed_us: int = 0  # when it was last observed running again after it had been suspended
    mismatch: str = ""  # in what its job differs from what is charged; empty: in nothing
    ready: bool = False  # all pods were ready when last observed
    ready_us: int = 0  # when ``ready`` last changed
    recovering: bool = False  # its pods were all ready in this run, and are not any more
    expired: bool = False  # its retention is over, and its object was ordered to be deleted
    held_quota: bool = False  # another controller had reserved quota when it was first observed
    held_places: dict[str, TopologyAssignment] = {}  # podset to the nodes assigned by that one
    failure: Failure | None = None  # of the order in force
    repeated: int = 0  # how often the order in force was repeated
    finished_us: int = 0
    out_of_sync: bool = False  # it finished because its job requests something else
    failed_nodes: tuple[str, ...] = ()  # whose pods need another node: status.unhealthyNodes
    successor: str = ""  # elastic jobs: the workload whose slice is to replace this one
    # what is derived from all that, and in no snapshot
    never_preempts: bool = False  # its PriorityClass has preemptionPolicy Never
    requests: tuple[dict[str, int], ...] | None = None  # of one pod of each podset
    invalid: str = ""  # why its podsets may not be admitted as they are, once that is known
    charges: tuple[tuple[FlavorResource, int], ...] = ()  # while it holds quota
    rank: Rank = (0, 0, "", "")  # its order in its queue
    shape: Shape | None = None  # in whose heap it is queued; None: in none

    @property
    def local_queue(self) -> str:
        """Return ``<namespace>/<name>`` of the LocalQueue that it names."""
        return self.key.partition("/")[0] + "/" + self.queue

    def ready_updates(self, podset: str) -> Iterator[tuple[str, PodSetUpdate]]:
        """Yield each ready check's name and its update of a podset."""
        for name in sorted(self.checks):
            if self.checks[name].state == "Ready":
                for update in self.checks[name].updates:
                    if update.name == podset:
                        yield name, update

    def __lt__(self, other: Workload) -> bool:
        """Order heap entries of equal rank: a workload that is queued again leaves an old one."""
        return self.key < other.key


class Rights(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What decides which workloads a preemptor may evict: equal rights mean equal candidates."""

    priority: int
    displaced: bool
    moves: bool  # may preempt by fair shares, too
    fresh: bool  # was not preempted since it last held quota
    never: bool
    needs: tuple[FlavorResource, ...]  # candidates elsewhere are in queues that borrow one of these


class Watch(msgspec.Struct, kw_only=True, eq=False):
    """Constraints during whose violation a shape is not offered; its newest watch alone is valid.

    See ``tidegate.core.nomination.watches``.
    """

    constraints: list[Constraint]
    rights: Rights | None = None  # violated even with evictions by these rights; None: without any
    reached: bool = False  # one of the constraints may hold, and the shape was offered for that


class Slot(msgspec.Struct, kw_only=True, eq=False):
    """One flavor of a resource group."""

    flavor: str
    spec: FlavorSpec | None  # None: no such ResourceFlavor
    cells: dict[str, Cell]  # by resource


class Group(msgspec.Struct, kw_only=True, eq=False):
    """A resource group with its cells looked up."""

    resources: tuple[str, ...]
    slots: list[Slot]


class Part(msgspec.Struct, kw_only=True, eq=False):
    """The requests for one resource group of podsets that must get the same flavor."""

    podsets: list[PodSet]
    group: Group
    slots: list[Slot] = []  # flavors that the podsets may use, whatever quota there is
    requests: dict[str, int] = {}
    least: dict[str, int] = {}  # requests with as few pods as the podsets may start with


class Parts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A workload's requests by part: see ``tidegate.core.flavors.parts``."""

    each: list[Part]
    covered: bool  # the ClusterQueue has quota for all requested resources
    needs: tuple[FlavorResource, ...]  # every flavor-resource that it may be charged


class Shape(msgspec.Struct, kw_only=True, eq=False):
    """The pending workloads of one ClusterQueue that differ for scheduling only in their order.

    If the first of them does not fit, no other does: they are parked together.
    """

    key: bytes
    heap: list[tuple[Rank, Workload]] = []  # entries of workloads that left it are skipped
    inadmissible: bool = False
    watch: Watch | None = None  # constraints that keep it from starting, offered or not
    named: Watch | None = None  # constraints in its reason; None: it is offered, or has none
    explanation: tuple[PendingStatus, list[Constraint] | None] | None = (
        None  # the reason of its first workload
    )
    explained: bool = (
        False  # its first workload was evaluated, and its reason names the quota it lacks
    )
    parts: Parts | None = None  # the requests of each workload; None: not computed yet

    def __lt__(self, other: Shape) -> bool:
        """Order heap entries of equal rank: a workload that changed its shape leaves an old one."""
        return self.key < other.key
