"""One workload, and the shape that it shares with those that scheduling cannot tell from it.

The one stands in the other's heap and knows it, so both are defined here.
"""

from __future__ import annotations

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

Rank: TypeAlias = tuple[int, int, str, str]
"""Where a workload stands in its queue: priority negated, queue time, uid, key.

Made anew each time it is placed, so that an outdated entry of a heap is known by its identity.
"""

Scanned: TypeAlias = tuple[tuple[dict[str, int], ...], int, int]
"""By podset the flavor that was last tried of each resource; in which cycle, behind which event."""

Constraint: TypeAlias = tuple[Cell | Capacity, int]
"""A ClusterQueue's cell, or room in a topology, and how much is asked for of it: violated while
less may be taken."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The newest order to start or stop a job."""

    kind: Literal["start", "stop"]
    seq: int  # of StartOrdered or StopOrdered
    first: int = 0  # seq of the order that this one repeats; 0: it repeats none
    between: tuple[int, ...] = ()  # seqs of the newest repetitions since then
    at_us: int
    attempt: int = 1
    creates: bool = False  # it is a copy that is to be created


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the actuator could not carry out an order."""

    reason: str
    decision_seq: int  # of the order that it failed at
    at_us: int


class PendingStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Why a workload waits, as last recorded: see ``tidegate.core.nomination.explain.stands``."""

    reason: PendingReason
    others: tuple[str, ...] = ()
    tried: tuple[tuple[str, str, str, str], ...] = ()  # podset, flavor, resource, reason
    requested: tuple[int, ...] = ()  # of each of these, in base units
    places: tuple[tuple[str, str], ...] = ()  # podset and flavor whose nodes could not take it
    requests: bytes = b""  # see ``tidegate.core.quota.charging.requests_digest``
    inadmissible: bool = False


class CheckState(msgspec.Struct, frozen=True, kw_only=True):
    """What an admission check's controller last said of a workload."""

    state: str  # Pending, Ready, Retry or Rejected
    message: str = ""
    requeue_after_s: int = 0
    at_us: int = 0
    updates: tuple[PodSetUpdate, ...] = ()


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
    body: str = ""  # of a placed job: digest of what its copy is made of; empty: it is none
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
    pending_status: PendingStatus | None = None  # why it waits, as last recorded
    inadmissible: bool = False  # alone, until something frees quota
    scan: Scanned | None = None  # Kueue's way: how far its scan of flavors got; None: to the end
    checks: dict[str, CheckState] = {}
    dispatch: Dispatch | None = None  # to worker clusters; None: it was sent to none
    guaranteed: bool = False  # it ever had a guaranteed time
    timed: bool = False  # it ever had a deadline of the families that timing sets
    reissues: int = 0  # how often its reservation was published again
    unpublished: bool = False  # not published since the ledger got another name
    recovered: bool = False  # admitted when the ledger got another name, not seen to run since
    reissued_us: int = 0
    checks_seq: int = 0  # the event since which their controllers' words count; 0: from the start
    stopped: bool = False  # the stop that was ordered last is proven
    executed_us: int = 0  # admitted before, for the maximum execution time
    order: Order | None = None
    cluster: str = ""  # of a placed job that holds quota, or did until it finished
    refused: tuple[str, ...] = ()  # clusters in which another object has its copy's name
    variants: tuple[str, ...] = ()  # of a parent: the workloads that it is tried by
    acting: str = ""  # of a parent: the variant that holds quota, for which the job runs
    # what was observed
    copies: dict[str, None] = {}  # of a placed job: their uids, in ``State.copies``
    end_shown: bool = False  # the job at home shows how its copy ended
    home_gone: bool = False  # the job at home is no more, or no longer managed
    state: JobState = JobState()  # of a placed job: of its copy where it has quota
    state_us: int = 0  # when it last changed
    checkpoint_us: int = 0  # when it last saved its work; never after it said so
    resumed_us: int = 0  # when it was last seen to run again after it had been suspended
    mismatch: str = ""  # in what its job differs from what is charged; empty: in nothing
    ready: bool = False  # all pods were ready when last observed
    ready_us: int = 0  # when that last changed
    recovering: bool = False  # its pods were all ready in this run, and are not any more
    expired: bool = False  # its retention is over, and its object was ordered to go
    held_quota: bool = False  # another controller had reserved quota when it was first seen
    held_places: dict[str, TopologyAssignment] = {}  # where it had placed podsets, by name
    failure: Failure | None = None  # of the order that stands
    repeated: int = 0  # how often the order that stands was given again
    finished_us: int = 0
    out_of_sync: bool = False  # it is over because its job asks for something else
    failed_nodes: tuple[str, ...] = ()  # whose pods need another place: status.unhealthyNodes
    successor: str = ""  # elastic jobs: the workload whose slice is to take this one over
    # what is derived from all that, and in no snapshot
    never_preempts: bool = False  # its PriorityClass says so
    requests: tuple[dict[str, int], ...] | None = None  # of one pod of each podset
    invalid: str = ""  # why its podsets may not be admitted as they are, once that is known
    charges: tuple[tuple[FlavorResource, int], ...] = ()  # while it holds quota
    rank: Rank = (0, 0, "", "")  # where it stands in its queue
    shape: Shape | None = None  # where it is queued; None: nowhere

    @property
    def local_queue(self) -> str:
        """Return ``<namespace>/<name>`` of the LocalQueue that it names."""
        return self.key.partition("/")[0] + "/" + self.queue

    def __lt__(self, other: Workload) -> bool:
        """Order heap entries of one rank: who left and came back left an outdated one behind."""
        return self.key < other.key


class Rights(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """Whom workloads of a ClusterQueue may evict: the same whom, where these are the same."""

    priority: int
    displaced: bool
    moves: bool  # for shares, too
    never: bool
    needs: tuple[FlavorResource, ...]  # in ClusterQueues that borrow one of these


class Watch(msgspec.Struct, kw_only=True, eq=False):
    """That a shape is not offered while constraints are violated; entries of an older one are void.

    See ``tidegate.core.nomination.watches``.
    """

    constraints: list[Constraint]
    rights: Rights | None = None  # to evict others, with which they are violated; None: nobody's
    reached: bool = False  # one of these was found not to be violated, and it was offered for that


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
    """What podsets that must get the same flavor ask of one resource group."""

    podsets: list[PodSet]
    group: Group
    slots: list[Slot] = []  # those that the podsets may go to, whatever quota there is
    requests: dict[str, int] = {}
    least: dict[str, int] = {}  # the same, with as few pods as they may start with


class Parts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a workload asks for: see ``tidegate.core.flavors.parts``."""

    each: list[Part]
    covered: bool  # the ClusterQueue has quota of all of it
    needs: tuple[FlavorResource, ...]  # all that it might be charged, in whichever flavors


class Shape(msgspec.Struct, kw_only=True, eq=False):
    """The pending workloads of one ClusterQueue that scheduling cannot tell apart but by order.

    What does not fit for the first of them does not for the others: they are parked together.
    """

    key: bytes
    heap: list[tuple[Rank, Workload]] = []  # entries of workloads that left it are passed over
    inadmissible: bool = False
    watch: Watch | None = None  # of constraints that keep it from starting, offered or not
    named: Watch | None = None  # of those in its reason; None: it is offered, or there are none
    explanation: tuple[PendingStatus, list[Constraint] | None] | None = (
        None  # the reason of its first workload
    )
    explained: bool = (
        False  # its first workload was evaluated, and its reason names the quota it lacks
    )
    parts: Parts | None = None  # what each of them asks for; None: not known yet

    def __lt__(self, other: Shape) -> bool:
        """Order heap entries of one rank: who changed its shape left an outdated one behind."""
        return self.key < other.key
