"""What a state derives from its facts to decide quickly: trees, queues, shapes and their heaps.

Nothing here is in a snapshot: ``tidegate.core.quota.forest`` builds it again from what is.
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
"""Podsets, what one pod of each is charged, and why they may not be admitted; "": they may."""


class Span(msgspec.Struct, kw_only=True, eq=False):
    """Which amounts of a cell evictions might give somebody, as far as was asked."""

    enough: int = -1  # so much they might
    too_much: int = sys.maxsize << 64  # so much they cannot, even if all left


class Watchers(msgspec.Struct, kw_only=True, eq=False):
    """Shapes of a ClusterQueue that watch one cell or room, the smallest amount first."""

    entries: list[tuple[int, int, Shape, Watch]] = []  # amount, a serial number, who, and what for
    entries_max: int = 64  # more than so many: the void ones are dropped


class Lack(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What must change at the root before an amount of a cell might be had."""

    units: int  # so much must be free in the cell
    own: int = 0  # the most that somebody may evict of it in the own ClusterQueue


class CellWatchers(msgspec.Struct, kw_only=True, eq=False):
    """Who waits for more of a ClusterQueue's cell, or of room in a topology."""

    cell: Cell | Capacity
    named: Watchers = msgspec.field(default_factory=Watchers)  # until as much is free
    beyond: dict[Rights, Watchers] = {}  # until as much might be, once others were evicted
    lack: Lack | None = None  # before that changes none of them is woken; None: not known
    lack_at: int = -1  # at which version of the nodes below the root that is so


class Leavers(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Who could leave a node, by the share that each alone would leave it, the greatest first."""

    ranks: list[int]  # of these shares, negated
    workloads: list[Workload]
    gone: dict[int, dict[FlavorResource, int]]  # charges of the first so many, negated; as asked


class Releases(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """How much of a flavor-resource could leave a node together, by the share that must be left."""

    ranks: list[int]  # of the shares that single workloads leave, negated, the greatest share first
    units: list[int]  # by the first so many of them; one more than ranks


class NodeSums(msgspec.Struct, kw_only=True, eq=False):
    """What is known of a node until something changes below: ``tidegate.core.preemption.sums``."""

    version: int  # the node's
    share: Share
    borrows: bool
    ranked: dict[tuple[FlavorResource, ...], list[tuple[int, Node]]] = {}
    """Its children that somebody could leave, with the rank of the greatest share that this leaves.

    By what is needed of the workload that leaves; the greatest first.
    """
    own: dict[int, dict[FlavorResource, int]] = {}
    """What is held there below a priority, negated."""
    sums: dict[tuple[FlavorResource, tuple[FlavorResource, ...], bool], dict[int, int]] = {}
    left: dict[str, int] = {}  # workload to the rank of the share that its leaving leaves
    leavers: dict[tuple[FlavorResource, ...], Leavers] = {}  # by what is needed of them
    releases: dict[tuple[FlavorResource, int], Releases] = {}  # of priorities below a limit


class Tree(msgspec.Struct, kw_only=True, eq=False):
    """One cohort tree, or one ClusterQueue without a cohort: what influences each other."""

    root: Node
    cluster_queues: list[ClusterQueueState] = []  # in name order
    cyclic: bool = False  # its cohorts are their own ancestors: nothing in it is active
    stamp: int = 0  # rises with whatever may change what fits or may be preempted, as it is shown
    upheld: int = -1  # the stamp at which all that is intended there was found to be within quota
    dirty: bool = True  # something happened that a cycle has not looked at
    left_seq: int = 0  # when quota last came back, or was given anew
    outside_seq: int = 0  # when it last did so without a preemption: see docs/adr/0005
    moved_seq: int = 0  # when one that had been displaced last preempted in another ClusterQueue
    leaving: dict[str, Workload] = {}  # evicting: charged until their stop is proven
    by_node: dict[int, ClusterQueueState] = {}  # by the identity of their nodes
    in_cycle: bool = False  # as a cycle shows it: without those who leave, with what is intended
    node_sums: dict[int, NodeSums] = {}
    """What preemption knows of its nodes as a cycle shows them, by their identity."""
    spans: dict[tuple[int, Rights], Span] = {}
    """What evictions might give, by the identity of a cell and by who asks."""
    spans_at: int = -1  # the stamp at which that was so
    unproven: dict[int, tuple[ClusterQueueState, Shape, tuple[int, int]]] = {}
    """Who is set aside, and is looked at again whenever the tree changes; by identity.

    With the stamp at which it was, and, if it waits for those who leave, ``left_seq``; else -1.
    """
    woken_at: int = -1  # the stamp at which watchers were looked at last
    owners_served: bool = False  # the cycle that runs admitted somebody to quota of its queue's own


class ClusterQueueState(msgspec.Struct, kw_only=True, eq=False):
    """One ClusterQueue at work."""

    name: str
    spec: ClusterQueueSpec
    node: Node
    tree: Tree
    groups: list[Group] = []
    group_of: dict[str, Group] = {}  # the first that covers a resource
    outside_seq: int = 0  # the tree's, as far as it was this ClusterQueue that changed
    moved_seq: int = 0  # when one of it that had been displaced last displaced others for shares
    has_topologies: bool = False  # some flavor of it has a topology
    only_topologies: bool = False  # each has: pods that request none are placed, too
    active: bool = False  # it admits: see ``tidegate.core.quota.readiness``
    holding: dict[str, Workload] = {}  # workloads that are charged here, by key
    usage_by_priority: dict[FlavorResource, dict[int, int]] = {}
    """Usage of workloads that are not being evicted, by priority."""
    counted: dict[int, int] = {}  # workloads with quota that are not being evicted, by priority
    intended: dict[FlavorResource, int] = {}  # what is kept for preemptors that wait
    shapes: dict[bytes, Shape] = {}
    heap: list[tuple[Rank, Shape]] = []  # at least one entry for each shape that is not parked
    blocked: Rank | None = None  # StrictFIFO: its first workload, which cannot act
    watchers: dict[int | Capacity, CellWatchers] = {}  # by the identity of a cell, or by room
    near: list[tuple[Rank, Shape, Watch]] = []
    """Who watches an amount that is free, in their order: see ``nomination.waking.wake``."""
    waiting: dict[str, Workload] = {}  # pending, and not to be offered for a reason of its own


class Forest(msgspec.Struct, kw_only=True, eq=False):
    """All trees."""

    stale: bool = True  # what it was built from has changed
    cluster_queues: dict[str, ClusterQueueState] = {}
    cohorts: dict[str, Node] = {}
    trees: list[Tree] = []  # in the order of their first ClusterQueues' names
    placing: list[Tree] = []  # of these, those with a flavor that has a topology
    dirty: list[Tree] = []
    readiness_recorded: bool = (
        False  # each ClusterQueue's readiness was recorded since it was built
    )
    unready: dict[str, None] = {}  # workloads with quota that were not ready; some are by now
    to_reconcile: dict[str, None] = {}  # workloads that a rule may have something to say about
    placed: list[Workload] | None = None  # who was placed anew; None: that is not noted
    topologies: Topologies = msgspec.field(default_factory=Topologies)
    pod_requests: dict[tuple[str, bytes], dict[str, int]] = {}
    """Namespace and podset to what one pod takes of a node."""
    pods: dict[bytes, Pods] = {}  # by a digest of namespace and podsets
