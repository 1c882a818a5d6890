"""What stood around one workload's life: who was ahead of it, what freed its quota, who had it.

The events of a workload say what was decided about it. Why just then is in the events of others,
so the history is folded once more, from its first entry.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidegate.contracts import decisions as decided
from tidegate.contracts import facts as told
from tidegate.contracts.codec import decode, type_name
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import root_of
from tidegate.core.state.cluster_queues import Tree
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Rank
from tidegate.model.quantity import render

SHOWN = 5
"""How many of those ahead are named."""
_QUOTA = (told.ClusterQueueDefined, told.CohortDefined, told.ClusterQueueRemoved)
_FREEING = (*_QUOTA, told.WorkloadFinished, told.WorkloadRemoved, decided.QuotaReleased)


class Freed(msgspec.Struct, frozen=True, kw_only=True):
    """Something after which there was more quota than before."""

    seq: int
    at_us: int
    what: str  # the event's type
    who: str  # a workload's key, or a ClusterQueue's or Cohort's name
    amounts: dict[str, dict[str, str]] = {}  # flavor to resource to quantity; of a workload


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """What one event of a workload does not say itself."""

    ahead: int = 0  # how many of its ClusterQueue would have been tried before it
    ahead_first: tuple[str, ...] = ()  # the first of them
    freed: tuple[Freed, ...] = ()  # what made room for it
    priorities: tuple[int, int] | None = None  # its own and its preemptor's
    intent_seq: int = 0  # the PreemptionIntended that named it
    borrowed: dict[str, dict[str, str]] = {}  # of its ClusterQueue, flavor to resource


def around(
    entries: Iterable[Entry], workload: str, last: int, state: State | None = None
) -> dict[int, Around]:
    """Return what stood around the events of a workload, by their seq.

    Args:
        entries: the ledger from its first entry, or what comes behind ``state``.
        workload: its key.
        last: the seq of its last event; nothing is read beyond.
        state: what the entries before them gave; it is changed.
    """
    looking = _Looking(workload, State() if state is None else state)
    for entry in entries:
        if entry.seq > last:
            break
        looking.look(entry, decode(entry.payload))
    return looking.found


class _Looking:
    """The state, and what was freed since the workload began to wait."""

    def __init__(self, workload: str, state: State) -> None:
        self._key, self._draft = workload, state
        self._freed = dict[int, list[Freed]]()  # by turn
        self._intent = 0
        self.found = dict[int, Around]()

    def look(self, entry: Entry, event: told.FactEvent | decided.DecisionEvent) -> None:
        """Fold an event, and note what it shows."""
        before = self._frees(entry, event)
        apply_recorded(self._draft, event)
        if before is not None:
            self._freed.setdefault(entry.turn, []).append(before)
        mine = self._draft.workloads.get(self._key)
        if isinstance(event, decided.PreemptionIntended):
            named = any(victim.workload == self._key for victim in event.victims)
            self._intent = entry.seq if named else self._intent
        if mine is not None and getattr(event, "workload", "") == self._key:
            note = self._note(event, mine)
            if note is not None:
                self.found[entry.seq] = note

    def _note(self, event: Event, mine: Workload) -> Around | None:
        match event:
            case told.WorkloadSubmitted() | decided.WorkloadRequeued():
                self._freed.clear()
                return None
            case decided.WorkloadPending():
                others = ahead(self._draft, mine)
                first = tuple(workload.key for workload in others[:SHOWN])
                return Around(ahead=len(others), ahead_first=first)
            case decided.QuotaReserved():
                newest = max(self._freed, default=0)
                return Around(freed=tuple(self._freed.pop(newest, ())))
            case decided.WorkloadPreempted():
                return self._preempted(event, mine)
            case _:
                return None

    def _preempted(self, event: decided.WorkloadPreempted, mine: Workload) -> Around:
        by = self._draft.workloads.get(event.by)
        return Around(
            priorities=None if by is None else (mine.priority, by.priority),
            intent_seq=self._intent,
            borrowed=_borrowed(self._draft, mine.cluster_queue),
        )

    def _frees(self, entry: Entry, event: Event) -> Freed | None:
        """Return what an event that is not folded yet will free in the workload's tree."""
        if not isinstance(event, _FREEING) or not (queue := self._mine_queue()):
            return None  # nobody waits: no tree is looked at, which definitions would build anew
        tree = self._tree(queue)
        if tree is None:
            return None
        if isinstance(event, _QUOTA):
            return self._defines(entry, event, tree)
        other = self._draft.workloads.get(event.workload)
        if other is None or not other.charges or self._tree(other.cluster_queue) is not tree:
            return None
        return Freed(
            seq=entry.seq,
            at_us=entry.at_us,
            what=type_name(event),
            who=event.workload,
            amounts=_amounts((fr.flavor, fr.resource, units) for fr, units in other.charges),
        )

    def _defines(
        self,
        entry: Entry,
        event: told.ClusterQueueDefined | told.CohortDefined | told.ClusterQueueRemoved,
        tree: Tree,
    ) -> Freed | None:
        if isinstance(event, told.CohortDefined):
            node = forest(self._draft).cohorts.get(event.name)
            inside = node is not None and root_of(node) is tree.root
        else:
            inside = self._tree(event.name) is tree
        if not inside:
            return None
        return Freed(seq=entry.seq, at_us=entry.at_us, what=type_name(event), who=event.name)

    def _mine_queue(self) -> str:
        mine = self._draft.workloads.get(self._key)
        waits = mine is not None and mine.phase == "pending"
        return mine.cluster_queue if waits and mine is not None else ""

    def _tree(self, cluster_queue: str) -> Tree | None:
        cq = forest(self._draft).cluster_queues.get(cluster_queue)
        return None if cq is None else cq.tree


def ahead(state: State, mine: Workload) -> list[Workload]:
    """Return who is offered before a workload in its ClusterQueue, in order."""
    forest(state)  # ranks are given when workloads are placed
    others = [
        workload
        for workload in state.workloads.values()
        if workload.cluster_queue == mine.cluster_queue
        and workload.shape is not None
        and workload.rank < mine.rank
    ]
    return sorted(others, key=_rank)


def _rank(workload: Workload) -> Rank:
    return workload.rank


def _borrowed(state: State, cluster_queue: str) -> dict[str, dict[str, str]]:
    cq = forest(state).cluster_queues.get(cluster_queue)
    cells = () if cq is None or cq.node.parent is None else cq.node.cells.items()
    return _amounts(
        (fr.flavor, fr.resource, cell.usage - cell.quota)
        for fr, cell in cells
        if cell.usage > cell.quota
    )


def _amounts(told_of: Iterable[tuple[str, str, int]]) -> dict[str, dict[str, str]]:
    amounts = dict[str, dict[str, str]]()
    for flavor, resource, units in sorted(told_of):
        amounts.setdefault(flavor, {})[resource] = render(resource, units)
    return amounts
