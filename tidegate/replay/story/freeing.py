"""Which events freed quota in a cohort tree: those of the newest turn that released or raised any.

A definition is noted under its own name, too, since it may join two trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from tidegate.contracts import decisions, facts
from tidegate.contracts.codec import type_name
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import Node, root_of
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import format_quantity

Amounts: TypeAlias = dict[str, dict[str, str]]
"""Flavor to resource to quantity."""
_Key: TypeAlias = tuple[bool, str]
"""Whether it is a Cohort, and its name."""
_QUOTA = (facts.ClusterQueueDefined, facts.CohortDefined, facts.ClusterQueueRemoved)
_LEAVING = (facts.WorkloadFinished, facts.WorkloadRemoved, decisions.QuotaReleased)
_BEGINNING = (facts.WorkloadSubmitted, decisions.WorkloadRequeued, decisions.QuotaReleased)


class FreedQuota(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """An event that freed or raised quota."""

    seq: int
    at_us: int
    type: str  # of the event
    object: str  # a workload's key, or a ClusterQueue's or Cohort's name
    amounts: Amounts = {}  # of a workload


class FreedQuotaTracker:
    """The last events that freed quota in each tree, and the beginning of each workload's wait."""

    def __init__(self) -> None:
        self._freed = dict[
            _Key, tuple[int, list[FreedQuota]]
        ]()  # the newest turn, and what it freed
        self._since = dict[str, int]()  # workload to the event with which its wait began

    def before_fold(self, state: State, entry: Entry, event: Event) -> None:
        """Note the quota that an event frees, before its fold: its charges still exist then."""
        if isinstance(event, _QUOTA):
            self._record_definition(state, entry, event)
        elif isinstance(event, _LEAVING):
            self._record_release(state, entry, event)

    def after_fold(self, state: State, entry: Entry, event: Event) -> None:
        """Note that a workload's wait begins with an event, or that it was removed."""
        if isinstance(event, _BEGINNING):
            self._since[event.workload] = entry.seq
        elif isinstance(event, facts.WorkloadRemoved) and event.workload not in state.workloads:
            self._since.pop(event.workload, None)

    def freed_for(self, state: State, entry: Entry, mine: Workload) -> tuple[FreedQuota, ...]:
        """Return the events that freed the quota that a workload reserves now, in order."""
        since, self._since[mine.key] = self._since.get(mine.key, 0), entry.seq
        queue = forest(state).cluster_queues.get(mine.cluster_queue)
        if queue is None:
            return ()
        turns = [self._freed[key] for key in _keys_upwards(queue.node) if key in self._freed]
        newest = max((turn for turn, _ in turns), default=0)
        freed = {cause.seq: cause for turn, each in turns if turn == newest for cause in each}
        return tuple(freed[seq] for seq in sorted(freed) if seq > since)

    def forget_gone(self, state: State, until: int) -> None:
        """Forget what was freed up to an event in trees that are gone."""
        trees = forest(state)
        for key, (_, freed) in list(self._freed.items()):
            is_cohort, name = key
            exists = name in (trees.cohorts if is_cohort else trees.cluster_queues)
            if not exists and freed[-1].seq <= until:
                del self._freed[key]

    def _record_definition(
        self,
        state: State,
        entry: Entry,
        event: facts.ClusterQueueDefined | facts.CohortDefined | facts.ClusterQueueRemoved,
    ) -> None:
        """Note a definition; does not rebuild the trees, which would cost that for each of many."""
        trees, is_cohort = state.forest, isinstance(event, facts.CohortDefined)
        freed = FreedQuota(
            seq=entry.seq, at_us=entry.at_us, type=type_name(event), object=event.name
        )
        if is_cohort:
            node = trees.cohorts.get(event.name)
        else:
            queue = trees.cluster_queues.get(event.name)
            node = None if queue is None else queue.node
        if node is not None:
            for key in {(is_cohort, event.name), _key(root_of(node))}:
                self._record_freed(key, entry.turn, freed)

    def _record_release(
        self,
        state: State,
        entry: Entry,
        event: facts.WorkloadFinished | facts.WorkloadRemoved | decisions.QuotaReleased,
    ) -> None:
        other = state.workloads.get(event.workload)
        if other is None or not other.charges:
            return
        queue = forest(state).cluster_queues.get(other.cluster_queue)
        if queue is not None:
            freed = FreedQuota(
                seq=entry.seq,
                at_us=entry.at_us,
                type=type_name(event),
                object=event.workload,
                amounts=amounts((fr, units) for fr, units in other.charges),
            )
            self._record_freed(_key(root_of(queue.node)), entry.turn, freed)

    def _record_freed(self, key: _Key, turn: int, freed: FreedQuota) -> None:
        newest, each = self._freed.get(key, (0, []))
        if newest != turn:
            self._freed[key] = turn, [freed]
        else:
            each.append(freed)


def amounts(of: Iterable[tuple[FlavorResource, int]]) -> Amounts:
    """Return amounts in base units as quantities, by flavor and resource."""
    by_flavor = Amounts()
    for fr, units in sorted(of):
        by_flavor.setdefault(fr.flavor, {})[fr.resource] = format_quantity(fr.resource, units)
    return by_flavor


def _keys_upwards(node: Node) -> Iterator[_Key]:
    """Yield a ClusterQueue's node and those above it."""
    at: Node | None = node
    while at is not None:
        yield _key(at)
        at = at.parent


def _key(node: Node) -> _Key:
    return node.is_cohort, node.name
