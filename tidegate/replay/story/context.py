"""The context of a workload's events: workloads ahead of it, and what freed its quota.

The events of a workload say what was decided about it. Why it was decided at that time is in the
events of others, so the history is folded again.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidegate.contracts import decisions, facts
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.core.folding.admissions import STOPPED
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.queueing.heads import queued
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Rank
from tidegate.replay.story.freeing import Amounts, Freed, Freeing, amounts
from tidegate.replay.story.lines import Lines

SHOWN = 5
"""How many of the workloads ahead are named."""
_OF_STOPS = frozenset({"Suspended", "Held", *STOPPED})
"""Reasons of decisions because of a stopped queue."""


class Stopped(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A stopped queue, with the author and the time of its stopPolicy."""

    kind: str  # ClusterQueue or LocalQueue
    name: str  # of a LocalQueue "<namespace>/<name>"
    policy: str  # Hold or HoldAndDrain
    at_us: int
    by: str  # empty: the author was not recorded


class Around(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The context of one event of a workload."""

    ahead: int = 0  # how many workloads of its ClusterQueue are tried before it
    ahead_first: tuple[str, ...] = ()  # the first of these
    freed: tuple[Freed, ...] = ()  # what freed quota for it
    priorities: tuple[int, int] | None = None  # its own and its preemptor's
    intent_seq: int = 0  # the PreemptionIntended with it as a victim
    borrowed: Amounts = {}  # by its ClusterQueue
    stopped: tuple[Stopped, ...] = ()  # those of its queues that are stopped


def around(
    entries: Iterable[Entry], workload: str, last: int, state: State | None = None
) -> dict[int, Around]:
    """Return the context of the events of a workload, by their seq.

    Args:
        entries: the ledger from its first entry, or the entries after ``state``.
        workload: its key.
        last: the seq of its last event; later entries are not read.
        state: the state before the entries; it is changed.
    """
    looking = Looking(State() if state is None else state, workload)
    notes = dict[int, Around]()
    for entry in entries:
        if entry.seq > last:
            break
        note = looking.look(entry, decode(entry.payload))
        if note is not None:
            notes[entry.seq] = note
    return notes


class Looking:
    """Folds a history event by event, and returns the context of each event."""

    def __init__(self, state: State, workload: str = "") -> None:
        """Return contexts of the events of ``workload``; empty: of every workload's."""
        self.state, self._wanted = state, workload
        self._freeing, self._lines = Freeing(), Lines()
        self._intents = dict[str, int]()  # victim to the newest PreemptionIntended that lists it

    def look(self, entry: Entry, event: facts.FactEvent | decisions.DecisionEvent) -> Around | None:
        """Fold the next event; return its context; None: it has none."""
        self._freeing.before(self.state, entry, event)
        apply_recorded(self.state, event)
        self._freeing.after(self.state, entry, event)
        self._lines.follow(self.state)
        if isinstance(event, decisions.PreemptionIntended):
            self._intents |= dict.fromkeys((victim.workload for victim in event.victims), entry.seq)
        key = getattr(event, "workload", "")
        if self._wanted not in {"", key}:
            return None
        mine = self.state.workloads.get(key)
        return None if mine is None else self._note(entry, event, mine)

    def _note(self, entry: Entry, event: Event, mine: Workload) -> Around | None:
        match event:
            case decisions.WorkloadPending():
                ahead_of_it = self._lines.ahead(self.state, mine, SHOWN)
                stopped = _stopped(self.state, mine, event.reason)
                return Around(
                    ahead=ahead_of_it.count, ahead_first=ahead_of_it.first, stopped=stopped
                )
            case decisions.QuotaReserved():
                return Around(freed=self._freeing.made_room(self.state, entry, mine))
            case decisions.WorkloadPreempted():
                return self._preempted(event, mine)
            case decisions.WorkloadEvicted() | decisions.QuotaReleased():
                return Around(stopped=_stopped(self.state, mine, event.reason))
            case _:
                return None

    def _preempted(self, event: decisions.WorkloadPreempted, mine: Workload) -> Around:
        by = self.state.workloads.get(event.by)
        return Around(
            priorities=None if by is None else (mine.priority, by.priority),
            intent_seq=self._intents.pop(mine.key, 0),
            borrowed=_borrowed(self.state, mine.cluster_queue),
        )


def ahead(state: State, mine: Workload) -> list[Workload]:
    """Return the workloads that its ClusterQueue offers before a workload, in order."""
    return [state.workloads[rank[3]] for rank in sorted(_ranks_ahead(state, mine))]


def _ranks_ahead(state: State, mine: Workload) -> list[Rank]:
    queue = forest(state).cluster_queues.get(mine.cluster_queue)
    place = mine.rank
    return [] if queue is None else [rank for rank in queued(queue) if rank < place]


def _stopped(state: State, mine: Workload, reason: str) -> tuple[Stopped, ...]:
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
        Stopped(kind=kind, name=key, policy=queue.spec.stop_policy, at_us=stop.at_us, by=stop.by)
        for kind, key, queue in queues
        if queue is not None and (stop := objects.stops.get(key)) is not None
    )


def _borrowed(state: State, cluster_queue: str) -> Amounts:
    queue = forest(state).cluster_queues.get(cluster_queue)
    cells = () if queue is None or queue.node.parent is None else queue.node.cells.items()
    return amounts((fr, cell.usage - cell.quota) for fr, cell in cells if cell.usage > cell.quota)
