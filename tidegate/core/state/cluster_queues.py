"""Caches for fast decisions, derived from the state: trees, queues, shapes and their heaps.

Snapshots leave these out: ``tidegate.core.quota.forest`` builds them again from the state.
"""

from __future__ import annotations

import sys
from typing import TypeAlias

import msgspec

from tidegate.core.quota.shares import Share
from tidegate.core.quota.tree import Cell, Node
from tidegate.core.state.workload import Group, Rank, Rights, Shape, Watch, Workload
from tidegate.core.topology.capacity import Capacity
from tidegate.core.topology.usage import Topologies
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet
from tidegate.model.quota import ClusterQueueSpec

Pods: TypeAlias = tuple[tuple[PodSet, ...], tuple[dict[str, int], ...], str]
"""Podsets, the charge of one pod of each, and why they may not be admitted; "": they may."""


CandidateKey: TypeAlias = tuple[bool, bool, int, bool, int, int, str, str]
"""The order of preemption candidates: see ``tidegate.core.preemption.candidates``."""


class Shortfall(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What must change at the root before an amount of a cell may become available."""

    units: int  # the amount
    unused: int  # so much of it must be unused; evictions below the root's own child free the rest
    lost: bool = False  # or the preemptor gets back rights that it has lost
    rank: int | None = None
    """Or another child of the root must keep a share of this rank without one of its workloads.

    Of a workload that uses one of ``needs``; None: that does not help.
    """
    needs: tuple[FlavorResource, ...] = ()


class Span(msgspec.Struct, kw_only=True, eq=False):
    """Which amounts of a cell evictions may free for a preemptor, as far as computed."""

    enough: int = -1  # the largest amount known to be possible
    too_much: int = sys.maxsize << 64  # the smallest known to be impossible, with all evictions
    shortfall: Shortfall | None = None  # of ``too_much``; None: not only the root must change


class Watchers(msgspec.Struct, kw_only=True, eq=False):
    """Shapes of a ClusterQueue that watch one cell or capacity, the smallest amount first."""

    entries: list[tuple[int, int, Shape, Watch]] = []  # amount, serial number, shape, its watch
    entries_max: int = 64  # above this, entries of older watches are dropped
    shortfall: Shortfall | None = None
    """None of them is reached anew before this changes; None: not known."""
    shortfall_at: int = -1  # the version of the nodes below the root for which ``shortfall`` holds
    shortfall_rights: Rights | None = None  # the rights for which it holds


class CellWatchers(msgspec.Struct, kw_only=True, eq=False):
    """The shapes that wait for more of a ClusterQueue's cell, or of a topology's capacity."""

    cell: Cell | Capacity
    named: Watchers = msgspec.field(default_factory=Watchers)  # woken once the amount is free
    beyond: dict[Rights, Watchers] = {}  # woken once evictions may free the amount


class RankedCandidates(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Preemption candidates below a node, by the share that the node keeps without each.

    The greatest share comes first.
    """

    ranks: list[int]  # of these shares, negated
    workloads: list[Workload]
    freed: dict[int, dict[FlavorResource, int]]  # count to negated charges of the first so many


class Releases(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """How much of a flavor-resource evictions free together, by the least share that remains."""

    ranks: list[int]  # of shares without one workload each, negated, the greatest share first
    units: list[int]  # freed by the first so many workloads; one entry more than ranks


class NodeSums(msgspec.Struct, kw_only=True, eq=False):
    """Sums of a node, valid until its version changes: see ``tidegate.core.preemption.sums``."""

    version: int  # the node's version
    share: Share
    borrows: bool
    ranked: dict[tuple[FlavorResource, ...], list[tuple[int, Node]]] = {}
    """Children with candidates, with the rank of the greatest share that one eviction leaves.

    By the flavor-resources that a candidate must use; the greatest share first.
    """
    own: dict[int, dict[FlavorResource, int]] = {}
    """Usage of workloads below a priority, negated."""
    sums: dict[tuple[FlavorResource, tuple[FlavorResource, ...], bool], dict[int, int]] = {}
    left: dict[str, int] = {}  # workload to the rank of the share without it
    leavers: dict[tuple[FlavorResource, ...], RankedCandidates] = {}  # by what a candidate must use
    releases: dict[tuple[FlavorResource, int], Releases] = {}  # of priorities below a limit
    in_order: dict[
        tuple[tuple[FlavorResource, ...], bool], list[tuple[CandidateKey, Workload]]
    ] = {}
    """A ClusterQueue's workloads with quota in the order in which a search takes them.

    By the flavor-resources that one must use, and whether the preemptor is in another ClusterQueue.
    """


class Tree(msgspec.Struct, kw_only=True, eq=False):
    """One cohort tree, or one ClusterQueue without a cohort; trees share no quota."""

    root: Node
    cluster_queues: list[ClusterQueueState] = []  # in name order
    cyclic: bool = (
        False  # its cohorts form a cycle, or are too many: no queue of the tree is active
    )
    stamp: int = 0  # rises with every change to what fits or may be preempted, also within a cycle
    intents_checked_at: int = -1  # the stamp at which all its intents were last within quota
    dirty: bool = True  # it changed since the last cycle over it
    left_seq: int = 0  # seq at which quota was last released or redefined
    outside_seq: int = 0  # seq at which that last happened without preemption: docs/adr/0005
    moved_seq: int = 0  # seq at which a displaced workload last preempted in another ClusterQueue
    leaving: dict[str, Workload] = {}  # evicting: charged until their stop is proven
    by_node: dict[int, ClusterQueueState] = {}  # by the identity of their nodes
    in_cycle: bool = False  # shown as in a cycle: without leaving workloads, with intents' charges
    node_sums: dict[int, NodeSums] = {}
    """Sums that preemption keeps for each node, as the cycle shows it, by the node's identity."""
    spans: dict[tuple[int, Rights], Span] = {}
    """Amounts that evictions may free, by the identity of a cell and the preemptor's rights."""
    spans_at: int = -1  # the stamp for which ``spans`` holds
    unproven: dict[int, tuple[ClusterQueueState, Shape, tuple[int, int]]] = {}
    """Shapes set aside without a watch, nominated again at each change; by the shape's identity.

    With the stamp at that time, and ``left_seq`` if the shape waits for evictions; else -1.
    """
    owners_served: bool = False  # this cycle admitted a workload within nominal quota


class ClusterQueueState(msgspec.Struct, kw_only=True, eq=False):
    """The runtime state of one ClusterQueue: its place in the tree, its heap, its usage."""

    name: str
    spec: ClusterQueueSpec
    node: Node
    tree: Tree
    groups: list[Group] = []
    group_of: dict[str, Group] = {}  # resource to the first group that covers it
    below_root: list[list[Cell]] = []
    """For each flavor, the cells with quota of the root's child that it is, or is below."""
    outside_seq: int = 0  # as the tree's, for changes of this ClusterQueue only
    moved_seq: int = 0  # seq at which a displaced workload of it last preempted by fair shares
    has_topologies: bool = False  # at least one of its flavors has a topology
    only_topologies: bool = False  # all flavors have one: pods that request none are placed, too
    active: bool = False  # it admits: see ``tidegate.core.quota.readiness``
    holding: dict[str, Workload] = {}  # workloads that are charged here, by key
    leaving: dict[str, Workload] = {}  # those of ``holding`` that are evicting
    usage_by_priority: dict[FlavorResource, dict[int, int]] = {}
    """Usage of workloads that are not being evicted, by priority."""
    counts_by_priority: dict[int, int] = {}
    """Number of workloads with quota that are not being evicted, by priority."""
    intent_units: dict[FlavorResource, int] = {}  # quota reserved for preemptors that wait
    shapes: dict[bytes, Shape] = {}  # some may have no workload any more
    shapes_max: int = 0  # a new shape beyond so many drops those without a workload
    heap: list[tuple[Rank, Shape]] = []  # at least one entry for each shape that is not parked
    blocked: Rank | None = None  # StrictFIFO: its first workload, which cannot act
    watchers: dict[int | Capacity, CellWatchers] = {}  # by a cell's identity, or by capacity
    reachable: list[tuple[Rank, Shape, Watch]] = []
    """Shapes that watch an amount that is free, in queue order: see ``nomination.waking``."""
    woken_at: int = -1  # the tree's stamp at which watchers were last woken
    waiting: dict[str, Workload] = {}  # pending, but not offered for reasons of their own
    displaced: dict[int, list[int]] = {}
    """By priority, the seqs at which workloads were preempted that wait here since."""


class Forest(msgspec.Struct, kw_only=True, eq=False):
    """All cohort trees of the state, and caches that they share."""

    stale: bool = True  # definitions changed since it was built
    cluster_queues: dict[str, ClusterQueueState] = {}
    cohorts: dict[str, Node] = {}
    trees: list[Tree] = []  # in the order of their first ClusterQueues' names
    topology_trees: list[Tree] = []  # of these, those with a flavor that has a topology
    dirty: list[Tree] = []
    readiness_recorded: bool = (
        False  # each ClusterQueue's readiness was recorded since the forest was built
    )
    unready: dict[str, None] = {}  # workloads with quota whose pods were not ready; some are now
    to_reconcile: dict[str, None] = {}  # workloads for which a rule may have decisions
    requeued: list[Workload] | None = None  # workloads queued again; None: not collected
    topologies: Topologies = msgspec.field(default_factory=Topologies)
    pod_requests: dict[tuple[str, bytes], dict[str, int]] = {}
    """Namespace and podset to the amounts that one pod uses of a node."""
    pods: dict[bytes, Pods] = {}  # by a digest of namespace and podsets
