"""What workloads take of which nodes, by flavor: kept beside the cohort trees and never recorded.

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
"""How many views are kept of what could be free, by whom others may evict."""


class PlacedPods(NamedTuple):
    """Pods of one podset in one leaf."""

    flavor: str
    values: tuple[str, ...]  # of the leaf, as an assignment records them
    each: dict[str, int]  # what one pod takes of a node, ``pods`` among it
    pods: int


class Seat(NamedTuple):
    """Where the pods of one podset would go."""

    flavor: str
    placed: Placed
    each: dict[str, int]


class Topologies(msgspec.Struct, kw_only=True, eq=False):
    """The topologies of all flavors that have one, with whatever is placed there."""

    stale: bool = True  # what they were built from has changed
    shared: bool = True  # gate TASHandleOverlappingFlavors
    placers: dict[str, Placer] = {}  # by flavor
    placed: dict[str, tuple[PlacedPods, ...]] = {}  # by workload
    at_node: dict[str, dict[str, None]] = {}  # workloads by the hostname of what they have
    changed: dict[str, None] = {}  # hostnames whose node changed, and that nobody looked at yet
    stamp: int = 0  # raised when something that was placed has gone, or a node changed
    upheld: dict[str, tuple[int, int]] = {}
    """Intents by preemptor, to the stamps, ours and its tree's, at which there were nodes."""
    waiting: dict[str, int] = {}
    """Workloads that have quota and need a place, to the stamp at which they found none; -1: they
    were not looked at yet."""
    claims: dict[str, tuple[str, ...]] = {}  # nodes to workloads that pods there name in vain
    claimed: dict[str, dict[str, None]] = {}  # the other way round
    moves: Moves = msgspec.field(default_factory=Moves)
    evictable: dict[tuple[Limits, str], Evictable] = {}  # and by flavor

    def hold(
        self, workload: str, holdings: tuple[PlacedPods, ...], rank: Rank | None = None
    ) -> None:
        """Charge a workload, in place of what it was charged before; None: it leaves."""
        self.release(workload)
        if holdings:
            self.placed[workload] = holdings
            self.charge(holdings, 1)
            self.moves.note(workload, rank)
            for holding in holdings:
                self.at_node.setdefault(holding.values[-1], {})[workload] = None

    def release(self, workload: str) -> None:
        """Charge a workload no more."""
        holdings = self.placed.pop(workload, ())
        if holdings:
            self.charge(holdings, -1)
            self.moves.note(workload, None)
            self.stamp += 1
            for holding in holdings:
                workloads = self.at_node.get(holding.values[-1], {})
                workloads.pop(workload, None)
                if not workloads:
                    self.at_node.pop(holding.values[-1], None)

    def reachable(self, limits: Limits, flavor: str, shape: Shape) -> Numbers:
        """Return a shape's numbers if all had left who may be evicted; costs what changed."""
        key, placer = (limits, flavor), self.placers[flavor]
        evictable = self.evictable.pop(key, None)
        if evictable is None:
            if len(self.evictable) >= EVICTABLE_MAX:
                self._forget(next(iter(self.evictable)))
            views = (View(leaves=placer.tree.free.leaves) for _ in range(2))
            evictable = Evictable(
                limits=limits, free=placer.tree.free, view=next(views), used=next(views)
            )
        self.evictable[key] = evictable  # the last to be forgotten
        evictable.follow(self.moves, lambda workload: self._taken(workload, flavor))
        return placer.numbers(shape, of=limits, view=evictable.view)

    def _forget(self, key: tuple[Limits, str]) -> None:
        limits, flavor = key
        del self.evictable[key]
        self.placers[flavor].forget(limits)

    def _taken(self, workload: str, flavor: str) -> Taken:
        holdings = self.placed.get(workload, ())
        return tuple(
            (leaf, holding.each, holding.pods)
            for holding in holdings
            for leaf in self._leaf(holding, flavor)
        )

    def _leaf(self, holding: PlacedPods, flavor: str) -> Iterator[int]:
        """Yield the leaf of a flavor's tree that pods use, if they use one of it."""
        tree = self.placers[flavor].tree
        if flavor == holding.flavor or (self.shared and tree.by_node):
            leaf = tree.number.get(holding.values)
            if leaf is not None:
                yield leaf

    def claim(self, node: str, workloads: Iterable[str]) -> None:
        """Note which workloads pods on a node name that were not charged for them."""
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
        """Take what a workload holds out of what is used (-1), or put it back (1)."""
        holdings = self.placed.get(workload)
        if holdings:
            self.charge(holdings, sign)

    def charge(self, holdings: tuple[PlacedPods, ...], sign: int, *, empty: bool = False) -> None:
        """Count pods as there (1), or as gone (-1); ``empty``: where nothing had been placed."""
        for holding in holdings:
            for flavor, placer in self.placers.items():
                for leaf in self._leaf(holding, flavor):
                    placer.view(empty=empty).add(leaf, holding.each, -sign * holding.pods)

    def seated(self, seats: list[Seat]) -> tuple[PlacedPods, ...]:
        """Return seats as what a workload would hold."""
        return tuple(
            PlacedPods(seat.flavor, self.placers[seat.flavor].tree.shown(leaf), seat.each, pods)
            for seat in seats
            for leaf, pods in seat.placed.leaves
        )

    def fit(self, seats: list[Seat]) -> bool:
        """Tell whether all these pods fit beside what is used now; changes nothing."""
        holdings = self.seated(seats)
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
