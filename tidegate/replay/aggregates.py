"""Aggregates events into figures of each ClusterQueue: waits, usage, preemptions, lost work.

It reads only events, so recorded and simulated histories are measured alike. A wait begins with a
submission or a requeuing and ends with the admission. A wait that has not ended counts up to the
end of the history, so that a configuration which leaves a workload pending does not look better.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from tidegate.contracts import decisions, facts
from tidegate.contracts.facts import Event
from tidegate.contracts.phases import HOLDING
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import ResourceGroup

Amounts: TypeAlias = dict[FlavorResource, int]
Giver: TypeAlias = Literal["queue", "cohort"]
NO_QUEUE = ""


class Level(msgspec.Struct, kw_only=True):
    """An amount over time: its integral so far, and each change of it."""

    value: int = 0
    since_us: int = 0
    integral: int = 0  # amount times microseconds
    points: list[tuple[int, int]] = []  # times of changes, and the values from then on

    def reach(self, at_us: int) -> None:
        """Extend the integral to a time."""
        self.integral += self.value * (at_us - self.since_us)
        self.since_us = at_us

    def shift(self, at_us: int, delta: int) -> None:
        """Change the amount from a time on."""
        if delta:
            self.reach(at_us)
            self.value += delta
            if self.points and self.points[-1][0] == at_us:
                self.points.pop()
            self.points.append((at_us, self.value))


class Holding(msgspec.Struct, kw_only=True):
    """The charge of one workload, and its start."""

    queue: str
    since_us: int
    assignment: tuple[PodSetAssignment, ...]
    charges: Amounts
    preempted: bool = False
    lost: Amounts = {}  # its usage times microseconds, up to ``since_us``


class QueueTally(msgspec.Struct, kw_only=True):
    """The counts of one ClusterQueue."""

    waits: list[int] = []  # microseconds, of waits that ended in an admission
    preemptions: int = 0  # of its workloads
    finished: int = 0
    used: dict[FlavorResource, Level] = {}
    quota: dict[FlavorResource, Level] = {}
    pending: Level = msgspec.field(default_factory=Level)
    lost: Amounts = {}  # units times microseconds of work that preemptions lost


class Tally:
    """Counts events, one after another; see the module."""

    def __init__(self, from_us: int) -> None:
        self.from_us = self.at_us = from_us
        self.queues = dict[str, QueueTally]()
        self.cohorts = dict[str, dict[FlavorResource, Level]]()
        self.waiting = dict[str, tuple[str, int]]()  # workload to its queue, and the wait's begin
        self.pending_reasons = dict[
            str, decisions.WorkloadPending
        ]()  # pending workloads' last reasons
        self._holding = dict[str, Holding]()
        self._locals = dict[str, str]()
        self._quotas = dict[tuple[Giver, str], Amounts]()

    def begin(self, state: State) -> None:
        """Begin with an earlier state: its pending workloads, and the quota in use."""
        for key, local in state.objects.local_queues.items():
            self._locals[key] = local.spec.cluster_queue
        for name, defined in state.objects.cluster_queues.items():
            self._give("queue", name, defined.spec.groups)
        for name, cohort in state.objects.cohorts.items():
            self._give("cohort", name, cohort.spec.groups)
        for workload in state.workloads.values():
            self._meet(workload)

    def note(self, event: Event) -> None:
        """Count one event, the next in time."""
        self.at_us = max(self.at_us, event.at_us)
        match event:
            case facts.WorkloadFact():
                self._note_fact(event)
            case decisions.WorkloadPending():
                self.pending_reasons[event.workload] = event
            case decisions.WorkloadDecision():
                self._note_decision(event)
            case facts.Named():
                self._note_definition(event)
            case _:
                pass  # nothing to count

    def end(self, at_us: int) -> None:
        """End the counting at a time."""
        self.at_us = max(self.at_us, at_us)
        for holding in self._holding.values():
            self._lose(holding)
        for queue in self.queues.values():
            for level in (*queue.used.values(), *queue.quota.values(), queue.pending):
                level.reach(self.at_us)
        for levels in self.cohorts.values():
            for level in levels.values():
                level.reach(self.at_us)

    def queue(self, name: str) -> QueueTally:
        """Return a queue's counts; creates them if missing."""
        if name not in self.queues:
            self.queues[name] = QueueTally(pending=Level(since_us=self.at_us))
        return self.queues[name]

    def _meet(self, workload: Workload) -> None:
        if workload.phase in HOLDING:
            self._hold(workload.key, workload.cluster_queue, workload.assignment)
            holding = self._holding[workload.key]
            holding.preempted = workload.evicted_reason == "Preempted"
        if workload.phase in {"pending", "reserved"}:
            self._wait(workload.key, workload.cluster_queue, workload.created_us)

    def _note_fact(self, event: facts.WorkloadFact) -> None:
        key = event.workload
        match event:
            case facts.WorkloadSubmitted():
                self._release(key)
                local = f"{key.partition('/')[0]}/{event.queue}"
                self._wait(key, self._locals.get(local, NO_QUEUE), event.at_us)
            case facts.WorkloadAdopted():
                self._admitted(key, event.cluster_queue)
                self._hold(key, event.cluster_queue, event.assignment)
            case facts.WorkloadFinished() | facts.WorkloadRemoved():
                queue = self._holding[key].queue if key in self._holding else NO_QUEUE
                if isinstance(event, facts.WorkloadFinished) and queue:
                    self.queue(queue).finished += 1
                self._release(key)
                self._stop_waiting(key)
            case facts.PodsReclaimed():
                self._reclaim(key, event.reclaimable)
            case _:
                pass  # holds and waits as before

    def _note_decision(self, event: decisions.WorkloadDecision) -> None:
        key = event.workload
        match event:
            case decisions.QuotaReserved():
                self._release(key)
                self._hold(key, event.cluster_queue, event.assignment)
            case decisions.WorkloadAdmitted():
                self._admitted(key, event.cluster_queue)
            case decisions.WorkloadPreempted():
                self.queue(event.cluster_queue).preemptions += 1
                if key in self._holding:
                    self._holding[key].preempted = True
            case decisions.QuotaReleased():
                self._release(key)
            case decisions.WorkloadRequeued():
                self._wait(key, event.cluster_queue, event.at_us)
            case decisions.WorkloadDeactivated():
                self._stop_waiting(key)
            case _:
                pass  # holds and waits as before

    def _note_definition(self, event: facts.Named) -> None:
        match event:
            case facts.LocalQueueDefined():
                self._locals[f"{event.namespace}/{event.name}"] = event.spec.cluster_queue
            case facts.ClusterQueueDefined():
                self._give("queue", event.name, event.spec.groups)
            case facts.ClusterQueueRemoved():
                self._give("queue", event.name, ())
            case facts.CohortDefined():
                self._give("cohort", event.name, event.spec.groups)
            case facts.CohortRemoved():
                self._give("cohort", event.name, ())
            case _:
                pass  # gives no quota

    def _wait(self, key: str, queue: str, since_us: int) -> None:
        if key not in self.waiting:
            self.waiting[key] = queue, since_us
            self.queue(queue).pending.shift(self.at_us, 1)

    def _stop_waiting(self, key: str) -> int | None:
        self.pending_reasons.pop(key, None)
        waiting = self.waiting.pop(key, None)
        if waiting is None:
            return None
        self.queue(waiting[0]).pending.shift(self.at_us, -1)
        return self.at_us - waiting[1]

    def _admitted(self, key: str, queue: str) -> None:
        waited_us = self._stop_waiting(key)
        if waited_us is not None:
            self.queue(queue).waits.append(waited_us)

    def _hold(self, key: str, queue: str, assignment: tuple[PodSetAssignment, ...]) -> None:
        charges = charged(assignment, {})
        self._holding[key] = Holding(
            queue=queue, since_us=self.at_us, assignment=assignment, charges=charges
        )
        self._use(queue, charges, 1)

    def _release(self, key: str) -> None:
        holding = self._holding.pop(key, None)
        if holding is None:
            return
        self._lose(holding)
        self._use(holding.queue, holding.charges, -1)

    def _reclaim(self, key: str, done: dict[str, int]) -> None:
        holding = self._holding.get(key)
        if holding is None:
            return
        self._account(holding)
        self._use(holding.queue, holding.charges, -1)
        holding.charges = charged(holding.assignment, done)
        self._use(holding.queue, holding.charges, 1)

    def _lose(self, holding: Holding) -> None:
        self._account(holding)
        if holding.preempted:
            add(self.queue(holding.queue).lost, holding.lost)

    def _account(self, holding: Holding) -> None:
        lasted_us = self.at_us - holding.since_us
        usage = {fr: units * lasted_us for fr, units in holding.charges.items()}
        holding.since_us = self.at_us
        holding.lost = dict(holding.lost)
        add(holding.lost, usage)

    def _use(self, queue: str, charges: Amounts, sign: int) -> None:
        used = self.queue(queue).used
        for fr, units in charges.items():
            level = used.setdefault(fr, Level(since_us=self.at_us))
            level.shift(self.at_us, sign * units)

    def _give(self, giver: Giver, name: str, groups: Iterable[ResourceGroup]) -> None:
        before, after = self._quotas.get((giver, name), {}), nominals(groups)
        self._quotas[giver, name] = after
        is_cohort = giver == "cohort"
        levels = self.cohorts.setdefault(name, {}) if is_cohort else self.queue(name).quota
        for fr in dict.fromkeys((*before, *after)):
            level = levels.setdefault(fr, Level(since_us=self.at_us))
            level.shift(self.at_us, after.get(fr, 0) - before.get(fr, 0))


def charged(assignment: Iterable[PodSetAssignment], done: dict[str, int]) -> Amounts:
    """Return the charge of an assignment without reclaimable pods."""
    total: Amounts = {}
    for podset in assignment:
        remaining = max(0, podset.count - done.get(podset.name, 0))
        for resource, flavor in podset.flavors.items():
            units = podset.usage.get(resource, 0)
            if remaining < podset.count:
                units = units // podset.count * remaining
            add(total, {FlavorResource(flavor, resource): units})
    return total


def nominals(groups: Iterable[ResourceGroup]) -> Amounts:
    """Return the nominal quotas of resource groups."""
    return {
        FlavorResource(flavor.flavor, resource): quota.nominal
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


def add(total: Amounts, more: Amounts) -> None:
    """Add amounts to others, in place."""
    for fr, units in more.items():
        total[fr] = total.get(fr, 0) + units
