"""Everything that is shown, folded from EVENTS; who learns asks afterwards what has changed.

Lenient where the core's fold is strict: EVENTS may have lost its beginning, so an event about a
workload that nobody heard of is passed over.
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from actuator.projection import check_states, slices, variants
from actuator.projection.conditions import introduced, show_again, show_decision, show_fact
from actuator.projection.queues import statuses as queues
from actuator.projection.queues.consumption import Consumption
from actuator.projection.queues.counts import Numbers, Share, share
from actuator.projection.queues.shares import Redefined, Shares, SharesShown
from actuator.projection.workload_view import WorkloadView, goes
from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    DecisionEvent,
    ReservationRepeated,
    VariantCreated,
    VariantDeleted,
    WorkloadDeactivated,
    WorkloadExpired,
)
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    ClusterQueueRemoved,
    CohortDefined,
    CohortRemoved,
    LocalQueueDefined,
    LocalQueueRemoved,
    PolicyConfigured,
    PriorityClassDefined,
    WorkloadPriorityClassDefined,
)
from tidegate.contracts.facts import FactEvent, LedgerOpened, WorkloadRemoved, WorkloadSubmitted

UNHEARD_MAX = 100_000
"""Events kept about workloads that are not read back yet; of more, the oldest are passed over."""
Seed: TypeAlias = (
    WorkloadView
    | ClusterQueueDefined
    | ClusterQueueReadinessChanged
    | CohortDefined
    | LocalQueueDefined
    | SharesShown
)
"""What can be read back from Kubernetes."""
SHARES = ("Shares", "")
"""The place that counts as changed when shares may have moved: see ``mark_moved``."""


class ReadModel:
    """What each Workload and queue shall show, and which of them changed."""

    def __init__(self) -> None:
        self.workloads = dict[str, WorkloadView]()  # by key
        self.cluster_queues = dict[str, ClusterQueueDefined]()
        self.local_queues = dict[str, LocalQueueDefined]()  # by "<namespace>/<name>"
        self.readiness = dict[str, ClusterQueueReadinessChanged]()
        self.numbers = dict[str, Numbers]()  # by ClusterQueue
        self.local_numbers = dict[str, Numbers]()  # by LocalQueue
        self.shares = Shares(self.numbers)
        self.consumption = Consumption()
        self.priorities = dict[tuple[str, str], int]()  # by kind of class and name
        self.removed = dict[str, WorkloadView]()  # whose Workload object shall go
        self.changed = dict[tuple[str, str], None]()  # ("Workload", key), … in order
        self.now_us, self.opened = 0, ""  # when the newest event was decided; what named the ledger
        self.places = False  # a topology has placed somebody's pods
        self.fills_in = False  # EVENTS has lost its beginning, and nothing was read back yet
        self._unheard = deque[tuple[FactEvent | DecisionEvent, str]](maxlen=UNHEARD_MAX)
        self._leads_to = dict[str, str]()  # LocalQueue to ClusterQueue
        self._by_queue = dict[str, dict[str, None]]()  # LocalQueue to workloads
        self.cohorts, self._shares = set[str](), dict[str, Share]()  # by workload

    def learn(self, event: FactEvent | DecisionEvent, decision: str) -> None:
        """Take in one event; ``decision`` is its ``<ledger id>/<seq>``."""
        self.now_us = max(self.now_us, event.at_us)
        self.opened = decision if isinstance(event, LedgerOpened) else self.opened
        match event:
            case WorkloadSubmitted():
                self._submit(event, decision)
            case ReservationRepeated() if event.workload in self.workloads or not self.fills_in:
                self._repeat(event, decision)
            case VariantCreated():
                self._submit(event.asked, decision)
            case WorkloadRemoved() | VariantDeleted() | WorkloadExpired(job=None):
                self._remove(event)
            case ClusterQueueReadinessChanged():
                self.readiness[event.cluster_queue] = event
                self._mark_queue(event.cluster_queue)
            case WorkloadPriorityClassDefined() | PriorityClassDefined():
                self._revalue(event)
            case _:
                self._learn_queue(event)
                self.changed.update(dict.fromkeys(self.consumption.learn(event)))
                self._learn_workload(event, decision)

    def seed(self, found: Seed) -> None:
        """Take from Kubernetes what EVENTS did not tell; what it told stays."""
        match found:
            case WorkloadView() if found.key not in self.workloads:
                self.workloads[found.key] = found
                self._count(found)
            case ClusterQueueDefined() if found.name not in self.cluster_queues:
                self._learn_queue(found)
            case LocalQueueDefined() if _key(found) not in self.local_queues:
                self._learn_queue(found)
            case CohortDefined() if found.name not in self.cohorts:
                self._learn_queue(found)
            case ClusterQueueReadinessChanged():
                self.readiness.setdefault(found.cluster_queue, found)
            case SharesShown():
                self.shares.shown()
            case _:
                pass

    def filled_in(self) -> None:
        """Go on after what Kubernetes shows was read back: take in what came too early."""
        self.fills_in = False
        while self._unheard:
            self.learn(*self._unheard.popleft())

    def take_changed(self) -> list[tuple[str, str]]:
        """Return what changed since this was asked last, each once."""
        changed, self.changed = list(self.changed), {}
        return changed

    def mark_all(self) -> None:
        """Let everything count as changed: nobody knows what the cluster shows."""
        kept = (("Workload", self.workloads), ("ClusterQueue", self.cluster_queues))
        for kind, keys in (*kept, ("LocalQueue", self.local_queues), ("Cohort", self.cohorts)):
            self.changed.update(dict.fromkeys((kind, key) for key in keys))

    def mark_moved(self) -> None:
        """Let the queues and cohorts count as changed whose share a redefinition has moved."""
        self.changed.update(dict.fromkeys(self.shares.moved()))

    def _learn_workload(self, event: FactEvent | DecisionEvent, decision: str) -> None:
        key = getattr(event, "workload", "")
        shown = self.workloads.get(key)
        if shown is None:
            if key and self.fills_in:
                self._unheard.append((event, decision))
            return
        before = shown.local_queue
        self._mirror(shown, event, decision)
        if show_fact(shown, event) or show_decision(shown, event) or variants.ungate(shown, event):
            slices.succeed(shown, self.workloads)
            shown.decision = decision
            check_states.follow(shown, event, decision)
            if isinstance(event, WorkloadDeactivated):
                shown.deactivated_by = decision
            if shown.local_queue != before:
                self._by_queue.get(before, {}).pop(shown.key, None)
            self._count(shown)
            self.changed["Workload", shown.key] = None

    def _mirror(self, shown: WorkloadView, event: FactEvent | DecisionEvent, decision: str) -> None:
        parent = self.workloads.get(shown.parent)
        if parent is not None and variants.mirror(parent, shown, event):
            self._show_parent(parent.key, decision)

    def _show_parent(self, key: str, decision: str) -> None:
        if (parent := self.workloads.get(key)) is not None:
            parent.decision = decision
            self._count(parent)
            self.changed["Workload", key] = None

    def _learn_queue(self, event: FactEvent | DecisionEvent) -> None:
        match event:
            case ClusterQueueDefined():
                self.cluster_queues[event.name] = event
                self._redefine(event)
                self._mark_queue(event.name)
            case ClusterQueueRemoved():
                self.cluster_queues.pop(event.name, None)
                self.readiness[event.name] = queues.gone(event)
                self._redefine(event)
                self._mark_queue(event.name)
            case CohortDefined():
                self.cohorts.add(event.name)
                self._redefine(event)
                self.changed["Cohort", event.name] = None
            case CohortRemoved():
                self.cohorts.discard(event.name)
                self._redefine(event)
            case PolicyConfigured():
                self._redefine(event)
            case LocalQueueDefined():
                self.local_queues[_key(event)] = event
                self._lead(_key(event), event.spec.cluster_queue)
            case LocalQueueRemoved():
                self.local_queues.pop(_key(event), None)
                self._lead(_key(event), "")
            case _:
                pass

    def _revalue(self, event: WorkloadPriorityClassDefined | PriorityClassDefined) -> None:
        """Learn a class's value, which the Workloads that name it show."""
        self.priorities[type(event).__name__.removesuffix("Defined"), event.name] = event.value
        named = (key for key, one in self.workloads.items() if event.name in one.priority_classes)
        self.changed.update(dict.fromkeys(("Workload", key) for key in named))

    def _redefine(self, event: Redefined) -> None:
        self.shares.define(event)
        self.changed[SHARES] = None

    def _submit(self, event: WorkloadSubmitted, decision: str) -> None:
        shown = introduced(event)
        shown.decision = decision
        slices.follow(shown, self.workloads)
        if event.variant_of and not shown.direct:
            variants.join(shown, event, self.workloads)
            self._show_parent(shown.parent, decision)
        self.removed.pop(shown.key, None)
        self.workloads[shown.key] = shown
        self._count(shown)
        self.changed["Workload", shown.key] = None

    def _repeat(self, event: ReservationRepeated, decision: str) -> None:
        """Show a reservation again; of a workload that EVENTS never told of, all there is."""
        shown = self.workloads.get(event.workload)
        if shown is None:
            shown = self.workloads[event.workload] = introduced(event)
            self.removed.pop(shown.key, None)
        show_again(shown, event)
        check_states.follow(shown, event, decision)
        shown.decision = decision
        self._count(shown)
        self.changed["Workload", shown.key] = None

    def _remove(self, event: WorkloadRemoved | VariantDeleted | WorkloadExpired) -> None:
        shown = self.workloads.pop(event.workload, None)
        if shown is None:
            return
        self._recount(shown.key, Share())
        self._by_queue.get(shown.local_queue, {}).pop(shown.key, None)
        if isinstance(event, VariantDeleted) and event.last:
            self._disband(event)
        shown.stays = not goes(shown, event)
        if shown.made or not shown.stays:
            self.removed[shown.key] = shown
            self.changed["Workload", shown.key] = None

    def _disband(self, event: VariantDeleted) -> None:
        parent = self.workloads.get(event.parent)
        if parent is not None:
            variants.disband(parent)
            self._show_parent(parent.key, parent.decision)

    def _lead(self, local_queue: str, cluster_queue: str) -> None:
        self._leads_to[local_queue] = cluster_queue
        for key in list(self._by_queue.get(local_queue, ())):
            self._count(self.workloads[key])
        self.changed["LocalQueue", local_queue] = None

    def _count(self, shown: WorkloadView) -> None:
        self.places = self.places or any(one.topology for one in shown.assignment)
        self._by_queue.setdefault(shown.local_queue, {})[shown.key] = None
        self._recount(shown.key, share(shown, self._leads_to))

    def _recount(self, key: str, new: Share) -> None:
        old = self._shares.pop(key, Share())
        if old != new:
            self._add(old, -1)
            self._add(new, 1)
        if new != Share():
            self._shares[key] = new

    def _add(self, one: Share, sign: int) -> None:
        if one.cluster_queue:
            self.numbers.setdefault(one.cluster_queue, Numbers()).add(one, sign)
            self.changed["ClusterQueue", one.cluster_queue] = None
            self._share(one, sign)
        if one.local_queue:
            self.local_numbers.setdefault(one.local_queue, Numbers()).add(one, sign)
            self.changed["LocalQueue", one.local_queue] = None

    def _share(self, one: Share, sign: int) -> None:
        if one.usage:
            self.shares.charge(one.cluster_queue, one.usage, sign)
        if one.usage and self.shares.on:
            above = self.shares.cohorts_above(one.cluster_queue)
            self.changed.update(dict.fromkeys(("Cohort", name) for name in above))

    def _mark_queue(self, name: str) -> None:
        """A ClusterQueue's readiness shows on its LocalQueues too."""
        self.changed["ClusterQueue", name] = None
        for key, leads_to in self._leads_to.items():
            if leads_to == name:
                self.changed["LocalQueue", key] = None


def _key(event: LocalQueueDefined | LocalQueueRemoved) -> str:
    return f"{event.namespace}/{event.name}"
