"""What would be free on nodes if all had left whom somebody may evict: more there cannot be.

Followed as far as somebody asks: of the pods on nodes only those are looked at that moved since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from tidegate.core.topology.fitting.tree import Amounts, View

Taken = tuple[tuple[int, Amounts, int], ...]
"""Leaves, what one pod takes there, and how many pods."""
_MOVES_MAX = 4_096
_REFILL_SHARE = 2  # more changes than a half of the leaves: added up anew


class Rank(NamedTuple):
    """By what it is decided whether a workload that holds quota may be evicted."""

    cluster_queue: str
    priority: int


class Limits(NamedTuple):
    """Below which priorities others may be evicted: in a ClusterQueue, and in all others."""

    cluster_queue: str
    own: int
    others: int

    def reach(self, rank: Rank | None) -> bool:
        """Tell whether somebody may be evicted; None: who leaves already, or is on no node."""
        if rank is None:
            return False
        own = rank.cluster_queue == self.cluster_queue
        return rank.priority < (self.own if own else self.others)


class Moves(msgspec.Struct, kw_only=True, eq=False):
    """Workloads on nodes that may be evicted, and a log of those that came, went or changed."""

    ranks: dict[str, Rank] = {}  # by workload
    log: list[str] = []  # workloads
    epoch: int = 0  # raised when the log was cut: who follows it begins anew

    def note(self, workload: str, rank: Rank | None) -> None:
        """Note that a workload is on other nodes, is ranked otherwise, or leaves (None)."""
        if rank is None:
            self.ranks.pop(workload, None)
        else:
            self.ranks[workload] = rank
        self.log.append(workload)
        if len(self.log) > _MOVES_MAX:
            self.log.clear()
            self.epoch += 1


class Evictable(msgspec.Struct, kw_only=True, eq=False):
    """A view of one tree as it would be without those whom somebody may evict."""

    limits: Limits
    free: View  # what is free now
    view: View  # beside that, what follows
    used: View  # what those use who may be evicted
    members: dict[str, Taken] = {}
    moved: tuple[int, int] = (-1, 0)  # how far the log of moves is followed: epoch and position
    seen: tuple[tuple[int, int], tuple[int, int]] = ((-1, 0), (-1, 0))  # the same of both views

    def follow(self, moves: Moves, member_of: Callable[[str], Taken]) -> None:
        """Take in what changed since the last time; ``member_of`` tells what a workload uses."""
        epoch, at = self.moved
        anew = epoch != moves.epoch
        changed: Iterable[str] = {**self.members, **moves.ranks} if anew else moves.log[at:]
        for key in dict.fromkeys(changed):
            for leaf, each, pods in self.members.pop(key, ()):
                self.used.add(leaf, each, -pods)
            if self.limits.reach(moves.ranks.get(key)):
                self.members[key] = member_of(key)
                for leaf, each, pods in self.members[key]:
                    self.used.add(leaf, each, pods)
        self.moved = moves.epoch, len(moves.log)
        self._add_up()

    def _add_up(self) -> None:
        views = self.free, self.used
        leaves: dict[int, None] = {}
        for view, (epoch, at) in zip(views, self.seen, strict=True):
            news = view.log[at:] if epoch == view.epoch else ()
            if epoch != view.epoch or len(news) * _REFILL_SHARE > view.leaves:
                self.view.log.clear()
                self.view.epoch += 1
                leaves = dict.fromkeys(range(view.leaves))
                break
            leaves |= dict.fromkeys(news)
        for resource in {**self.free.rows, **self.used.rows}:
            row, free, used = (view.row(resource) for view in (self.view, *views))
            for leaf in leaves:
                row[leaf] = free[leaf] + used[leaf]
        if len(leaves) < self.view.leaves:
            for leaf in leaves:
                self.view.changed(leaf)
        self.seen = (
            (self.free.epoch, len(self.free.log)),
            (self.used.epoch, len(self.used.log)),
        )
