"""The context of a workload's events: workloads ahead of it, and what freed its quota.

The events of a workload say what was decided about it. Why it was decided at that time is in the
events of others, so the history is folded again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

import msgspec

from tidegate.contracts import decisions, facts
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.core.folding.admissions import STOPPED
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.queueing.heads import queued_ranks
from tidegate.core.quota.forest import forest
from tidegate.core.state.cluster_queues import Forest
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Rank
from tidegate.replay.story.freeing import Amounts, FreedQuota, FreedQuotaTracker, amounts

SHOWN = 5
"""How many of the workloads ahead are named."""
_OF_STOPS = frozenset({"Suspended", "Held", *STOPPED})
"""Reasons of decisions because of a stopped queue."""


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


class StoppedQueue(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A stopped queue, with the author and the time of its stopPolicy."""

    kind: str  # ClusterQueue or LocalQueue
    name: str  # of a LocalQueue "<namespace>/<name>"
    policy: str  # Hold or HoldAndDrain
    at_us: int
    by: str  # empty: the author was not recorded


class EventContext(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The context of one event of a workload."""

    ahead: int = 0  # how many workloads of its ClusterQueue are tried before it
    ahead_first: tuple[str, ...] = ()  # the first of these
    freed: tuple[FreedQuota, ...] = ()  # what freed quota for it
    priorities: tuple[int, int] | None = None  # its own and its preemptor's
    intent_seq: int = 0  # the PreemptionIntended with it as a victim
    borrowed: Amounts = {}  # by its ClusterQueue
    stopped: tuple[StoppedQueue, ...] = ()  # those of its queues that are stopped


def event_contexts(
    entries: Iterable[Entry], workload: str, last: int, state: State | None = None
) -> dict[int, EventContext]:
    """Return the context of the events of a workload, by their seq.

    Args:
        entries: the ledger from its first entry, or the entries after ``state``.
        workload: its key.
        last: the seq of its last event; later entries are not read.
        state: the state before the entries; it is changed.
    """
    looking = ContextFolder(State() if state is None else state, workload)
    notes = dict[int, EventContext]()
    for entry in entries:
        if entry.seq > last:
            break
        note = looking.fold(entry, decode(entry.payload))
        if note is not None:
            notes[entry.seq] = note
    return notes


class ContextFolder:
    """Folds a history event by event, and returns the context of each event."""

    def __init__(self, state: State, workload: str = "") -> None:
        """Return contexts of the events of ``workload``; empty: of every workload's."""
        self.state, self._wanted = state, workload
        self._freeing, self._lines = FreedQuotaTracker(), PendingOrder()
        self._intents = dict[str, int]()  # victim to the newest PreemptionIntended that lists it

    def fold(
        self, entry: Entry, event: facts.FactEvent | decisions.DecisionEvent
    ) -> EventContext | None:
        """Fold the next event; return its context; None: it has none."""
        self._freeing.before_fold(self.state, entry, event)
        apply_recorded(self.state, event)
        self._freeing.after_fold(self.state, entry, event)
        self._lines.apply_changes(self.state)
        if isinstance(event, decisions.PreemptionIntended):
            self._intents |= dict.fromkeys((victim.workload for victim in event.victims), entry.seq)
        key = getattr(event, "workload", "")
        if key not in self.state.workloads:
            self._intents.pop(key, None)
        if self._wanted not in {"", key}:
            return None
        mine = self.state.workloads.get(key)
        return None if mine is None else self._context_of(entry, event, mine)

    def forget_gone(self, until: int) -> None:
        """Forget what quota was freed up to an event in trees that are gone."""
        self._freeing.forget_gone(self.state, until)

    def _context_of(self, entry: Entry, event: Event, mine: Workload) -> EventContext | None:
        match event:
            case decisions.WorkloadPending():
                ahead_of_it = self._lines.ahead(self.state, mine, SHOWN)
                stopped = _stopped_queues(self.state, mine, event.reason)
                return EventContext(
                    ahead=ahead_of_it.count, ahead_first=ahead_of_it.first, stopped=stopped
                )
            case decisions.QuotaReserved():
                return EventContext(freed=self._freeing.freed_for(self.state, entry, mine))
            case decisions.WorkloadPreempted():
                return self._preemption_context(event, mine)
            case decisions.WorkloadEvicted() | decisions.QuotaReleased():
                return EventContext(stopped=_stopped_queues(self.state, mine, event.reason))
            case _:
                return None

    def _preemption_context(
        self, event: decisions.WorkloadPreempted, mine: Workload
    ) -> EventContext:
        by = self.state.workloads.get(event.by)
        return EventContext(
            priorities=None if by is None else (mine.priority, by.priority),
            intent_seq=self._intents.pop(mine.key, 0),
            borrowed=_borrowed_amounts(self.state, mine.cluster_queue),
        )


def workloads_ahead(state: State, mine: Workload) -> list[Workload]:
    """Return the workloads that its ClusterQueue offers before a workload, in order."""
    return [state.workloads[rank[3]] for rank in sorted(_ranks_ahead(state, mine))]


def _ranks_ahead(state: State, mine: Workload) -> list[Rank]:
    queue = forest(state).cluster_queues.get(mine.cluster_queue)
    place = mine.rank
    return [] if queue is None else [rank for rank in queued_ranks(queue) if rank < place]


def _stopped_queues(state: State, mine: Workload, reason: str) -> tuple[StoppedQueue, ...]:
    """Return which of a workload's queues are stopped, if that is the reason of a decision."""
    if reason not in _OF_STOPS:
        return ()
    objects = state.objects
    local = objects.local_queues.get(mine.local_queue)
    name = mine.cluster_queue if local is None else local.spec.cluster_queue
    queues = (
        ("ClusterQueue", name, objects.cluster_queues.get(name)),
        ("LocalQueue", mine.local_queue, local),
    )
    return tuple(
        StoppedQueue(
            kind=kind, name=key, policy=queue.spec.stop_policy, at_us=stop.at_us, by=stop.by
        )
        for kind, key, queue in queues
        if queue is not None and (stop := objects.stops.get(key)) is not None
    )


def _borrowed_amounts(state: State, cluster_queue: str) -> Amounts:
    queue = forest(state).cluster_queues.get(cluster_queue)
    cells = () if queue is None or queue.node.parent is None else queue.node.cells.items()
    return amounts(
        (fr, cell.usage - cell.subtree_quota)
        for fr, cell in cells
        if cell.usage > cell.subtree_quota
    )
