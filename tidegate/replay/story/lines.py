"""The pending workloads of each ClusterQueue, kept in order while a ledger is folded."""

from __future__ import annotations

from bisect import bisect_left, insort

import msgspec

from tidegate.core.queueing.heads import queued_ranks
from tidegate.core.quota.forest import forest
from tidegate.core.state.cluster_queues import Forest
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Rank


class WorkloadsAhead(msgspec.Struct, frozen=True):
    """The workloads that are tried before a workload in its ClusterQueue."""

    count: int
    first: tuple[str, ...]  # the keys of the first of them, in order


class PendingOrder:
    """The lines of ClusterQueues, created when needed; each change costs a search in one line.

    Follows the list of workloads that the core queues again. A rebuilt forest clears all lines.
    """

    def __init__(self) -> None:
        self._forest: Forest | None = None
        self._lines = dict[str, list[Rank]]()
        self._places = dict[str, tuple[str, Rank]]()  # workload to its ClusterQueue and rank there

    def ahead(self, state: State, workload: Workload, limit: int) -> WorkloadsAhead:
        """Return the number of workloads before a workload, and the keys of the first ``limit``."""
        forest(state)  # a rebuild clears the lines
        self.apply_changes(state)
        line = self._queue_order(state, workload.cluster_queue)
        count = bisect_left(line, workload.rank)
        return WorkloadsAhead(count, tuple(rank[3] for rank in line[: min(limit, count)]))

    def apply_changes(self, state: State) -> None:
        """Apply the changes of the last event; call it after each event."""
        trees = state.forest
        if trees is not self._forest or trees.requeued is None:
            self._forest, trees.requeued = trees, []
            self._lines.clear()
            self._places.clear()
        if not trees.requeued:
            return
        for workload in trees.requeued:
            self._reinsert(workload)
        trees.requeued.clear()

    def _reinsert(self, workload: Workload) -> None:
        cluster_queue, rank = self._places.pop(workload.key, ("", workload.rank))
        line = self._lines.get(cluster_queue, [])
        at = bisect_left(line, rank)
        if at < len(line) and line[at] == rank:
            del line[at]
        if workload.shape is not None and workload.cluster_queue in self._lines:
            insort(self._lines[workload.cluster_queue], workload.rank)
            self._places[workload.key] = workload.cluster_queue, workload.rank

    def _queue_order(self, state: State, cluster_queue: str) -> list[Rank]:
        line, cq = self._lines.get(cluster_queue), state.forest.cluster_queues.get(cluster_queue)
        if line is not None or cq is None:
            return line or []
        self._lines[cluster_queue] = line = sorted(queued_ranks(cq))
        self._places |= {rank[3]: (cluster_queue, rank) for rank in line}
        return line
