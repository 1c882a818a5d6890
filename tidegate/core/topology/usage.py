"""The usage of nodes by workloads, by flavor: derived like the cohort trees, never recorded.

Source: behaviour.md 12.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tidegate.core.topology.evictable import Evictable, Limits, Moves, Rank, Taken
from tidegate.core.topology.fitting.counts import Numbers, Shape
from tidegate.core.topology.fitting.tree import View
from tidegate.core.topology.place import Placed, Placer

EVICTABLE_MAX = 16
"""How many views of nodes without preemption candidates are cached, one for each limits."""


class PlacedPods(NamedTuple):
    """Pods of one podset in one leaf."""

    flavor: str
    values: tuple[str, ...]  # of the leaf, as in an assignment
    each: dict[str, int]  # the amounts that one pod uses of a node, including ``pods``
    pods: int


class Seat(NamedTuple):
    """The proposed placement of one podset."""

    flavor: str
    placed: Placed
    each: dict[str, int]


class Topologies(msgspec.Struct, kw_only=True, eq=False):
    """The topologies of all flavors that have one, with the pods placed there."""

    stale: bool = True  # definitions or nodes have changed since they were built
    shared: bool = True  # gate TASHandleOverlappingFlavors
    placers: dict[str, Placer] = {}  # by flavor
    placed: dict[str, tuple[PlacedPods, ...]] = {}  # by workload
    at_node: dict[str, dict[str, None]] = {}  # a leaf's last value, a hostname, to workloads there
    changed: dict[str, None] = {}  # hostnames of changed nodes for ``record_failed_nodes``
    stamp: int = 0  # raised when placed pods leave, or a node changes
    placeable_at: dict[str, tuple[int, int]] = {}
    """Preemptors to the stamps (this one, and the tree's) at which their intents found nodes."""
    waiting: dict[str, int] = {}
    """Workloads with quota that wait for nodes, to the stamp of the last failed attempt; -1: none
    yet."""
    claims: dict[str, tuple[str, ...]] = {}  # nodes to workloads whose names foreign pods bear
    claimed: dict[str, dict[str, None]] = {}  # these workloads to nodes
    moves: Moves = msgspec.field(default_factory=Moves)
    evictable: dict[tuple[Limits, str], Evictable] = {}  # by limits and flavor

    def charge_workload_pods(
        self, workload: str, holdings: tuple[PlacedPods, ...], rank: Rank | None = None
    ) -> None:
        """Charge a workload's pods, in place of earlier ones; ``rank`` None: it is leaving."""
        self.release_workload_pods(workload)
        if holdings:
            self.placed[workload] = holdings
            self.charge(holdings, 1)
            self.moves.record(workload, rank)
            for holding in holdings:
                self.at_node.setdefault(holding.values[-1], {})[workload] = None

    def release_workload_pods(self, workload: str) -> None:
        """Remove a workload's pods from the nodes."""
        holdings = self.placed.pop(workload, ())
        if holdings:
            self.charge(holdings, -1)
            self.moves.record(workload, None)
            self.stamp += 1
            for holding in holdings:
                workloads = self.at_node.get(holding.values[-1], {})
                workloads.pop(workload, None)
                if not workloads:
                    self.at_node.pop(holding.values[-1], None)

    def numbers_without_candidates(self, limits: Limits, flavor: str, shape: Shape) -> Numbers:
        """Return a shape's numbers without all candidates; costs O(changes since the last call)."""
        key, placer = (limits, flavor), self.placers[flavor]
        evictable = self.evictable.pop(key, None)
        if evictable is None:
            if len(self.evictable) >= EVICTABLE_MAX:
                self._drop_evictable(next(iter(self.evictable)))
            views = (View(leaves=placer.tree.free.leaves) for _ in range(2))
            evictable = Evictable(
                limits=limits, free=placer.tree.free, view=next(views), used=next(views)
            )
        self.evictable[key] = evictable  # the most recently used is last
        evictable.update(self.moves, lambda workload: self._used_leaves(workload, flavor))
        return placer.numbers(shape, of=limits, view=evictable.view)

    def _drop_evictable(self, key: tuple[Limits, str]) -> None:
        limits, flavor = key
        del self.evictable[key]
        self.placers[flavor].drop_view(limits)

    def _used_leaves(self, workload: str, flavor: str) -> Taken:
        holdings = self.placed.get(workload, ())
        return tuple(
            (leaf, holding.each, holding.pods)
            for holding in holdings
            for leaf in self._leaves_of(holding, flavor)
        )

    def _leaves_of(self, holding: PlacedPods, flavor: str) -> Iterator[int]:
        """Yield the leaf of a flavor's tree that pods use, if they use one."""
        tree = self.placers[flavor].tree
        if flavor == holding.flavor or (self.shared and tree.by_node):
            leaf = tree.number.get(holding.values)
            if leaf is not None:
                yield leaf

    def set_claims(self, node: str, workloads: Iterable[str]) -> None:
        """Note the workloads that foreign pods on a node name."""
        for key in self.claims.pop(node, ()):
            self.claimed[key].pop(node)
            if not self.claimed[key]:
                del self.claimed[key]
        named = tuple(workloads)
        if named:
            self.claims[node] = named
            for key in named:
                self.claimed.setdefault(key, {})[node] = None

    def shift(self, workload: str, sign: int) -> None:
        """Subtract a workload's pods from the usage (-1), or add them back (1)."""
        holdings = self.placed.get(workload)
        if holdings:
            self.charge(holdings, sign)

    def charge(self, holdings: tuple[PlacedPods, ...], sign: int, *, empty: bool = False) -> None:
        """Add pods to their leaves (1), or subtract them (-1); ``empty``: in the empty view."""
        for holding in holdings:
            for flavor, placer in self.placers.items():
                for leaf in self._leaves_of(holding, flavor):
                    placer.view(empty=empty).add(leaf, holding.each, -sign * holding.pods)

    def pods_of_seats(self, seats: list[Seat]) -> tuple[PlacedPods, ...]:
        """Return proposed placements as pods by leaf."""
        return tuple(
            PlacedPods(seat.flavor, self.placers[seat.flavor].tree.shown(leaf), seat.each, pods)
            for seat in seats
            for leaf, pods in seat.placed.leaves
        )

    def can_fit(self, seats: list[Seat]) -> bool:
        """Tell whether all pods of the seats fit beside the present usage; changes nothing."""
        holdings = self.pods_of_seats(seats)
        self.charge(holdings, 1)
        fits = all(
            self.placers[seat.flavor].tree.free.row(resource)[leaf] >= 0
            for seat in seats
            for leaf, _ in seat.placed.leaves
            for resource, units in seat.each.items()
            if units > 0
        )
        self.charge(holdings, -1)
        return fits
