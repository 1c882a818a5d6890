"""The memory of one run of ``decide``, and the cohort trees as the entries of a cycle see them.

It is dropped at the end of the run: the next turn starts from the state alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.flavors.choices import Assignment
from tidegate.core.flavors.placement import place_podsets
from tidegate.core.folding.fold import apply
from tidegate.core.quota.tree import Cell, Node, add_usage, cell_available, cell_of, remove_usage
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Scanned
from tidegate.core.topology.cluster import intended_pods
from tidegate.core.topology.usage import PlacedPods, Seat
from tidegate.model.ids import FlavorResource

Charges = Iterable[tuple[FlavorResource, int]]
Scan = tuple[dict[str, int], ...]


class DecideContext(msgspec.Struct, kw_only=True, eq=False):
    """The state of one run of ``decide``."""

    state: State
    decisions_max: int
    decisions: list[DecisionEvent] = []
    cycle: int = 0  # the number of the cycle that runs
    reserved: list[tuple[Tree, Node, list[tuple[FlavorResource, int]]]] = []
    """Usage that the cycle added to the trees beyond the charges; negative: subtracted."""
    lowered: list[tuple[Cell, int]] = []  # see ``lower``
    cycle_trees: list[Tree] = []  # the trees of this cycle
    reserved_pods: list[
        tuple[tuple[PlacedPods, ...], int]
    ] = []  # pods added to nodes; -1: subtracted
    unused: dict[str, dict[FlavorResource, int]] = {}  # by ClusterQueue; see ``free_now``
    unused_at: dict[str, tuple[int, int]] = {}  # the cycle and its tree's stamp at that time
    removed_leaving: list[
        tuple[PlacedPods, ...]
    ] = []  # pods subtracted because their workloads are being evicted
    victims: dict[str, Workload] = {}  # preempted in this cycle
    admitted: dict[str, Workload] = {}  # in this cycle
    scanned: dict[str, Scanned] = {}  # kueue mode: how far flavor scans got, not recorded yet
    earlier_scans: list[
        dict[str, Scan]
    ] = []  # after each cycle since the last one that changed anything else

    @property
    def recorded_cycle(self) -> int:
        """Return the cycle's number for events: 0 where nothing depends on it."""
        return self.cycle if self.state.scan.resumes else 0

    @property
    def is_full(self) -> bool:
        """Tell whether this turn reached ``decisions_max``: the next turn decides the rest."""
        return len(self.decisions) >= self.decisions_max

    def record(self, decision: DecisionEvent) -> None:
        """Take a decision: fold it, and remember it for the ledger."""
        apply(self.state, decision)
        self.decisions.append(decision)

    def record_all(self, decisions: Iterable[DecisionEvent]) -> None:
        """Take decisions in their order."""
        for decision in decisions:
            self.record(decision)

    def reserve(self, tree: Tree, node: Node, charges: Charges) -> None:
        """Add usage that is not charged, for later entries of this cycle."""
        remaining = [(fr, units) for fr, units in charges if units]
        add_usage(node, remaining)
        self.reserved.append((tree, node, remaining))

    def lower_usage(self, cell: Cell, amount: int) -> None:
        """Add a negative amount to a ClusterQueue's usage alone, for later entries of this cycle.

        Kueue's addition passes on only what exceeds the local quota, so the cohort keeps its usage.
        """
        cell.usage += amount
        self.lowered.append((cell, amount))

    def reserve_seats(self, seats: list[Seat]) -> None:
        """Add pods of an assignment to nodes for later entries of this cycle."""
        if seats:
            self.reserve_pods(self.state.forest.topologies.pods_of_seats(seats))

    def reserve_pods(self, holdings: tuple[PlacedPods, ...], sign: int = 1) -> None:
        """Add pods to their nodes for later entries of this cycle, or subtract them (-1)."""
        if holdings:
            self.state.forest.topologies.charge(holdings, sign)
            self.reserved_pods.append((holdings, sign))

    def finds_nodes_now(self, workload: Workload, assignment: Assignment) -> bool:
        """Return whether an assignment finds nodes beside all pods, leaving ones included.

        Keeps the assignment's nodes if they are free, and searches others if not.
        """
        if not any(podset.topology_flavor for podset in assignment.podsets):
            return True
        topologies = self.state.forest.topologies
        for holdings in self.removed_leaving:
            topologies.charge(holdings, 1)
        placed = bool(assignment.seats) and topologies.can_fit(assignment.seats)
        placed = placed or not place_podsets(self.state, workload, assignment)
        for holdings in self.removed_leaving:
            topologies.charge(holdings, -1)
        return placed

    def begin_cycle(self, trees: Iterable[Tree]) -> None:
        """Show each tree as it will be: without leaving workloads, with the intents' charges."""
        if not self.state.requeue.reserves_freed_quota:
            return
        cluster_queues = self.state.forest.cluster_queues
        for tree in trees:
            tree.in_cycle = True
            self.cycle_trees.append(tree)
            for workload in tree.leaving.values():
                freed = [(fr, -units) for fr, units in workload.charges]
                self.reserve(tree, cluster_queues[workload.cluster_queue].node, freed)
        self._begin_cycle_on_nodes()
        for intent in self.state.intents.values():
            cq = cluster_queues.get(intent.cluster_queue)
            if cq is not None and cq.tree.in_cycle:
                self.reserve(cq.tree, cq.node, intent.charges)

    def _begin_cycle_on_nodes(self) -> None:
        """Show nodes as they will be, too, for workloads of all trees: trees may share nodes."""
        topologies = self.state.forest.topologies
        if not topologies.placers:
            return
        for tree in self.state.forest.trees:
            for key in tree.leaving:
                self.removed_leaving.append(topologies.placed.get(key, ()))
                self.reserve_pods(self.removed_leaving[-1], -1)
        for intent in self.state.intents.values():
            self.reserve_pods(intended_pods(self.state, intent))

    def end_cycle(self) -> None:
        """Undo all that the cycle added to or subtracted from trees and nodes."""
        for tree in self.cycle_trees:
            tree.in_cycle = False
        for cell, amount in self.lowered:
            cell.usage -= amount
        for _, node, charges in reversed(self.reserved):
            remove_usage(node, charges)
        for holdings, sign in self.reserved_pods:
            self.state.forest.topologies.charge(holdings, -sign)
        self.reserved, self.lowered, self.reserved_pods, self.removed_leaving = [], [], [], []
        self.victims, self.admitted, self.cycle_trees = {}, {}, []

    def fits_now(self, cq: ClusterQueueState, charges: Charges) -> bool:
        """Return whether charges fit beside all others, those of leaving workloads included."""
        return all(units <= 0 or units <= self.available_now(cq, fr) for fr, units in charges)

    def available_now(self, cq: ClusterQueueState, fr: FlavorResource) -> int:
        """Return the quota that is unused beside all charges; computed once per tree and stamp."""
        if not self.reserved:
            return cell_available(cell_of(cq.node, fr))
        at, unused = (self.cycle, cq.tree.stamp), self.unused.get(cq.name)
        if unused is None or self.unused_at[cq.name] != at or fr not in unused:
            cell_of(cq.node, fr)
            self._compute_unused_now(cq.tree, at)
        return self.unused[cq.name][fr]

    def _compute_unused_now(self, tree: Tree, at: tuple[int, int]) -> None:
        reserved_nodes = [(node, remaining) for of, node, remaining in self.reserved if of is tree]
        for node, rest in reserved_nodes:
            remove_usage(node, rest)
        for cq in tree.cluster_queues:
            self.unused[cq.name] = {fr: cell_available(cell) for fr, cell in cq.node.cells.items()}
            self.unused_at[cq.name] = at
        for node, rest in reserved_nodes:
            add_usage(node, rest)
