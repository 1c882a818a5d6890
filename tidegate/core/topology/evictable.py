"""The capacity of nodes without all workloads that a preemptor may evict: an upper bound.

Updated when it is needed: only workloads that moved since the last update are processed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from tidegate.core.topology.fitting.tree import Amounts, View

Taken = tuple[tuple[int, Amounts, int], ...]
"""Leaves, the amounts that one pod uses there, and how many pods."""
_MOVES_MAX = 4_096
_REFILL_SHARE = 2  # after changes of more than half of the leaves, all are added up again


class Rank(NamedTuple):
    """What decides whether a workload with quota may be evicted."""

    cluster_queue: str
    priority: int


class Limits(NamedTuple):
    """The priorities below which others may be evicted: in a ClusterQueue, and in all others."""

    cluster_queue: str
    own: int
    others: int

    def may_evict(self, rank: Rank | None) -> bool:
        """Tell whether a workload may be evicted; None: it is leaving already, or on no node."""
        if rank is None:
            return False
        own = rank.cluster_queue == self.cluster_queue
        return rank.priority < (self.own if own else self.others)


class Moves(msgspec.Struct, kw_only=True, eq=False):
    """Workloads on nodes that may be evicted, and a log of workloads that came, left or changed."""

    ranks: dict[str, Rank] = {}  # by workload
    log: list[str] = []  # workloads
    epoch: int = 0  # raised when the log is cleared: readers then start again

    def record(self, workload: str, rank: Rank | None) -> None:
        """Note that a workload moved to other nodes, has another rank, or leaves (None)."""
        if rank is None:
            self.ranks.pop(workload, None)
        else:
            self.ranks[workload] = rank
        self.log.append(workload)
        if len(self.log) > _MOVES_MAX:
            self.log.clear()
            self.epoch += 1


class Evictable(msgspec.Struct, kw_only=True, eq=False):
    """A view of one tree as it would be without the workloads that a preemptor may evict."""

    limits: Limits
    free: View  # the amounts that are free now
    view: View  # the sums of ``free`` and ``used``
    used: View  # the usage of workloads that may be evicted
    members: dict[str, Taken] = {}
    moved: tuple[int, int] = (-1, 0)  # position in the log of moves: epoch and index
    seen: tuple[tuple[int, int], tuple[int, int]] = ((-1, 0), (-1, 0))  # positions in both views

    def update(self, moves: Moves, member_of: Callable[[str], Taken]) -> None:
        """Apply the changes since the last call; ``member_of`` returns a workload's usage."""
        epoch, at = self.moved
        anew = epoch != moves.epoch
        changed: Iterable[str] = {**self.members, **moves.ranks} if anew else moves.log[at:]
        for key in dict.fromkeys(changed):
            for leaf, each, pods in self.members.pop(key, ()):
                self.used.add(leaf, each, -pods)
            if self.limits.may_evict(moves.ranks.get(key)):
                self.members[key] = member_of(key)
                for leaf, each, pods in self.members[key]:
                    self.used.add(leaf, each, pods)
        self.moved = moves.epoch, len(moves.log)
        self._update_view()

    def _update_view(self) -> None:
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
