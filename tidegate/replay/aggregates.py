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
from tidegate.model.quota import ResourceGroup, quotas_of

Amounts: TypeAlias = dict[FlavorResource, int]
Giver: TypeAlias = Literal["queue", "cohort"]
NO_QUEUE = ""


class TimeIntegral(msgspec.Struct, kw_only=True):
    """An amount over time: its integral so far, and each change of it."""

    value: int = 0
    since_us: int = 0
    integral: int = 0  # amount times microseconds
    points: list[tuple[int, int]] = []  # times of changes, and the values from then on

    def extend_to(self, at_us: int) -> None:
        """Extend the integral to a time."""
        self.integral += self.value * (at_us - self.since_us)
        self.since_us = at_us

    def shift(self, at_us: int, delta: int) -> None:
        """Change the amount from a time on."""
        if delta:
            self.extend_to(at_us)
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
    used: dict[FlavorResource, TimeIntegral] = {}
    quota: dict[FlavorResource, TimeIntegral] = {}
    pending: TimeIntegral = msgspec.field(default_factory=TimeIntegral)
    lost: Amounts = {}  # units times microseconds of work that preemptions lost


class Aggregator:
    """Counts events, one after another; see the module."""

    def __init__(self, from_us: int) -> None:
        self.from_us = self.at_us = from_us
        self.queues = dict[str, QueueTally]()
        self.cohorts = dict[str, dict[FlavorResource, TimeIntegral]]()
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
            self._set_quotas("queue", name, defined.spec.groups)
        for name, cohort in state.objects.cohorts.items():
            self._set_quotas("cohort", name, cohort.spec.groups)
        for workload in state.workloads.values():
            self._begin_with_workload(workload)

    def add_event(self, event: Event) -> None:
        """Count one event, the next in time."""
        self.at_us = max(self.at_us, event.at_us)
        match event:
            case facts.WorkloadFact():
                self._add_fact(event)
            case decisions.WorkloadPending():
                self.pending_reasons[event.workload] = event
            case decisions.WorkloadDecision():
                self._add_decision(event)
            case facts.Named():
                self._add_definition(event)
            case _:
                pass  # nothing to count

    def end_at(self, at_us: int) -> None:
        """End the counting at a time."""
        self.at_us = max(self.at_us, at_us)
        for holding in self._holding.values():
            self._record_lost_work(holding)
        for queue in self.queues.values():
            for level in (*queue.used.values(), *queue.quota.values(), queue.pending):
                level.extend_to(self.at_us)
        for levels in self.cohorts.values():
            for level in levels.values():
                level.extend_to(self.at_us)

    def queue_tally(self, name: str) -> QueueTally:
        """Return a queue's counts; creates them if missing."""
        if name not in self.queues:
            self.queues[name] = QueueTally(pending=TimeIntegral(since_us=self.at_us))
        return self.queues[name]

    def _begin_with_workload(self, workload: Workload) -> None:
        if workload.phase in HOLDING:
            self._begin_holding(workload.key, workload.cluster_queue, workload.assignment)
            holding = self._holding[workload.key]
            holding.preempted = workload.evicted_reason == "Preempted"
        if workload.phase in {"pending", "reserved"}:
            self._begin_wait(workload.key, workload.cluster_queue, workload.created_us)

    def _add_fact(self, event: facts.WorkloadFact) -> None:
        key = event.workload
        match event:
            case facts.WorkloadSubmitted():
                self._end_holding(key)
                local = f"{key.partition('/')[0]}/{event.queue}"
                self._begin_wait(key, self._locals.get(local, NO_QUEUE), event.at_us)
            case facts.WorkloadAdopted():
                self._record_admission(key, event.cluster_queue)
                self._begin_holding(key, event.cluster_queue, event.assignment)
            case facts.WorkloadFinished() | facts.WorkloadRemoved():
                queue = self._holding[key].queue if key in self._holding else NO_QUEUE
                if isinstance(event, facts.WorkloadFinished) and queue:
                    self.queue_tally(queue).finished += 1
                self._end_holding(key)
                self._end_wait(key)
            case facts.PodsReclaimed():
                self._reclaim(key, event.reclaimable)
            case _:
                pass  # holds and waits as before

    def _add_decision(self, event: decisions.WorkloadDecision) -> None:
        key = event.workload
        match event:
            case decisions.QuotaReserved():
                self._end_holding(key)
                self._begin_holding(key, event.cluster_queue, event.assignment)
            case decisions.WorkloadAdmitted():
                self._record_admission(key, event.cluster_queue)
            case decisions.WorkloadPreempted():
                self.queue_tally(event.cluster_queue).preemptions += 1
                if key in self._holding:
                    self._holding[key].preempted = True
            case decisions.QuotaReleased():
                self._end_holding(key)
            case decisions.WorkloadRequeued():
                self._begin_wait(key, event.cluster_queue, event.at_us)
            case decisions.WorkloadDeactivated():
                self._end_wait(key)
            case _:
                pass  # holds and waits as before

    def _add_definition(self, event: facts.Named) -> None:
        match event:
            case facts.LocalQueueDefined():
                self._locals[f"{event.namespace}/{event.name}"] = event.spec.cluster_queue
            case facts.ClusterQueueDefined():
                self._set_quotas("queue", event.name, event.spec.groups)
            case facts.ClusterQueueRemoved():
                self._set_quotas("queue", event.name, ())
            case facts.CohortDefined():
                self._set_quotas("cohort", event.name, event.spec.groups)
            case facts.CohortRemoved():
                self._set_quotas("cohort", event.name, ())
            case _:
                pass  # gives no quota

    def _begin_wait(self, key: str, queue: str, since_us: int) -> None:
        if key not in self.waiting:
            self.waiting[key] = queue, since_us
            self.queue_tally(queue).pending.shift(self.at_us, 1)

    def _end_wait(self, key: str) -> int | None:
        self.pending_reasons.pop(key, None)
        waiting = self.waiting.pop(key, None)
        if waiting is None:
            return None
        self.queue_tally(waiting[0]).pending.shift(self.at_us, -1)
        return self.at_us - waiting[1]

    def _record_admission(self, key: str, queue: str) -> None:
        waited_us = self._end_wait(key)
        if waited_us is not None:
            self.queue_tally(queue).waits.append(waited_us)

    def _begin_holding(
        self, key: str, queue: str, assignment: tuple[PodSetAssignment, ...]
    ) -> None:
        charges = charges_of(assignment, {})
        self._holding[key] = Holding(
            queue=queue, since_us=self.at_us, assignment=assignment, charges=charges
        )
        self._shift_used(queue, charges, 1)

    def _end_holding(self, key: str) -> None:
        holding = self._holding.pop(key, None)
        if holding is None:
            return
        self._record_lost_work(holding)
        self._shift_used(holding.queue, holding.charges, -1)

    def _reclaim(self, key: str, done: dict[str, int]) -> None:
        holding = self._holding.get(key)
        if holding is None:
            return
        self._shift_usage(holding)
        self._shift_used(holding.queue, holding.charges, -1)
        holding.charges = charges_of(holding.assignment, done)
        self._shift_used(holding.queue, holding.charges, 1)

    def _record_lost_work(self, holding: Holding) -> None:
        self._shift_usage(holding)
        if holding.preempted:
            add_amounts(self.queue_tally(holding.queue).lost, holding.lost)

    def _shift_usage(self, holding: Holding) -> None:
        lasted_us = self.at_us - holding.since_us
        usage = {fr: units * lasted_us for fr, units in holding.charges.items()}
        holding.since_us = self.at_us
        holding.lost = dict(holding.lost)
        add_amounts(holding.lost, usage)

    def _shift_used(self, queue: str, charges: Amounts, sign: int) -> None:
        used = self.queue_tally(queue).used
        for fr, units in charges.items():
            level = used.setdefault(fr, TimeIntegral(since_us=self.at_us))
            level.shift(self.at_us, sign * units)

    def _set_quotas(self, giver: Giver, name: str, groups: Iterable[ResourceGroup]) -> None:
        before, after = self._quotas.get((giver, name), {}), nominal_quotas(groups)
        self._quotas[giver, name] = after
        is_cohort = giver == "cohort"
        levels = self.cohorts.setdefault(name, {}) if is_cohort else self.queue_tally(name).quota
        for fr in dict.fromkeys((*before, *after)):
            level = levels.setdefault(fr, TimeIntegral(since_us=self.at_us))
            level.shift(self.at_us, after.get(fr, 0) - before.get(fr, 0))


def charges_of(assignment: Iterable[PodSetAssignment], done: dict[str, int]) -> Amounts:
    """Return the charge of an assignment without reclaimable pods."""
    total: Amounts = {}
    for podset in assignment:
        remaining = max(0, podset.count - done.get(podset.name, 0))
        for resource, flavor in podset.flavors.items():
            units = podset.usage.get(resource, 0)
            if remaining < podset.count:
                units = units // podset.count * remaining
            add_amounts(total, {FlavorResource(flavor, resource): units})
    return total


def nominal_quotas(groups: Iterable[ResourceGroup]) -> Amounts:
    """Return the nominal quotas of resource groups."""
    return {fr: quota.nominal for fr, quota in quotas_of(groups)}


def add_amounts(total: Amounts, more: Amounts) -> None:
    """Add amounts to others, in place."""
    for fr, units in more.items():
        total[fr] = total.get(fr, 0) + units
