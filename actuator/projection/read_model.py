"""The read model: statuses folded from EVENTS, with a list of changed objects.

Lenient where the core's fold is strict: EVENTS may have lost its beginning, so an event about a
workload that is unknown is ignored.
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from actuator.projection import checks, siblings
from actuator.projection.conditions import apply_decision, apply_fact, new_view, repeat_reservation
from actuator.projection.priority_classes import Values, apply_class_event
from actuator.projection.queues import statuses
from actuator.projection.queues.local_queues import LocalQueues
from actuator.projection.queues.numbers import NOTHING, QueueNumbers, Share, workload_share
from actuator.projection.queues.shares import Redefined, Shares, SharesSeen
from actuator.projection.queues.statuses import Consumption
from actuator.projection.workload_view import WorkloadView, needs_cleanup, object_is_deleted
from actuator.projection.write_scope import OwnQueues
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
    | SharesSeen
)
"""What can be read back from Kubernetes."""
SHARES = ("Shares", "")
"""The place that counts as changed when shares may have moved: see ``mark_moved``."""


class ReadModel:
    """The desired status of each Workload and queue, and which of them changed."""

    def __init__(self, partition: int = 0) -> None:
        self.territory = OwnQueues(partition)
        self.workloads = dict[str, WorkloadView]()  # by key
        self.cluster_queues = dict[str, ClusterQueueDefined]()
        self.local_queues = dict[str, LocalQueueDefined]()  # by "<namespace>/<name>"
        self.readiness = dict[str, ClusterQueueReadinessChanged]()
        self.numbers = QueueNumbers()
        self.shares = Shares(self.numbers.cluster_queues)
        self.consumption = Consumption()
        self.priorities: Values = {}
        self.removed = dict[str, WorkloadView]()  # Workload objects to delete
        self.changed = dict[tuple[str, str], None]()  # ("Workload", key), … in order
        self.now_us, self.opened = 0, ""  # when the newest event was decided; what named the ledger
        self.places = False  # a topology has placed pods
        self.fills_in = False  # EVENTS has lost its beginning, and nothing was read back yet
        self._unheard = deque[tuple[FactEvent | DecisionEvent, str]](maxlen=UNHEARD_MAX)
        self._named = LocalQueues()
        self.cohorts = set[str]()

    def apply_event(self, event: FactEvent | DecisionEvent, decision: str) -> None:
        """Take in one event; ``decision`` is its ``<ledger id>/<seq>``."""
        self.now_us = max(self.now_us, event.at_us)
        self.territory.apply_event(event)
        self.opened = decision if isinstance(event, LedgerOpened) else self.opened
        match event:
            case WorkloadSubmitted():
                self._add_workload(event, decision)
            case ReservationRepeated() if event.workload in self.workloads or not self.fills_in:
                self._apply_repetition(event, decision)
            case VariantCreated():
                self._add_workload(event.submission, decision)
            case WorkloadRemoved() | VariantDeleted() | WorkloadExpired(job=None):
                self._remove_workload(event)
            case ClusterQueueReadinessChanged():
                self.readiness[event.cluster_queue] = event
                self._mark_queue(event.cluster_queue)
            case _:
                self._apply_queue_event(event)
                self._apply_class_event(event)
                self.changed.update(dict.fromkeys(self.consumption.apply_event(event)))
                self._apply_workload_event(event, decision)

    def add_seed(self, seed: Seed) -> None:
        """Add from Kubernetes what EVENTS did not have; existing views stay."""
        match seed:
            case WorkloadView() if seed.key not in self.workloads:
                self.workloads[seed.key] = seed
                self._count(seed)
            case ClusterQueueDefined() if seed.name not in self.cluster_queues:
                self._apply_queue_event(seed)
            case LocalQueueDefined() if statuses.key_of(seed) not in self.local_queues:
                self._apply_queue_event(seed)
            case CohortDefined() if seed.name not in self.cohorts:
                self._apply_queue_event(seed)
            case ClusterQueueReadinessChanged():
                self.readiness.setdefault(seed.cluster_queue, seed)
            case SharesSeen():
                self.shares.assume_configured()
            case _:
                pass

    def end_seeding(self) -> None:
        """Go on after what Kubernetes shows was read back: take in what came too early."""
        self.fills_in = False
        while self._unheard:
            self.apply_event(*self._unheard.popleft())

    def take_changed(self) -> list[tuple[str, str]]:
        """Return what changed since this was asked last, each once."""
        changed, self.changed = list(self.changed), {}
        return changed

    def mark_all(self) -> None:
        """Mark everything as changed: the cluster's state is unknown."""
        views = (("Workload", self.workloads), ("ClusterQueue", self.cluster_queues))
        for kind, keys in (*views, ("LocalQueue", self.local_queues), ("Cohort", self.cohorts)):
            self.changed.update(dict.fromkeys((kind, key) for key in keys))

    def mark_moved(self) -> None:
        """Mark the queues and cohorts as changed whose share a redefinition has moved."""
        self.changed.update(dict.fromkeys(self.shares.take_changed()))

    def _apply_workload_event(self, event: FactEvent | DecisionEvent, decision: str) -> None:
        key = getattr(event, "workload", "")
        view = self.workloads.get(key)
        if view is None:
            if key and self.fills_in:
                self._unheard.append((event, decision))
            return
        before = view.local_queue
        self._update_parent(view, event, decision)
        changed = apply_fact(view, event) or apply_decision(view, event)
        if changed or siblings.open_gate(view, event):
            siblings.inherit_fields(view, self.workloads)
            view.decision = decision
            checks.follow_checks(view, event, decision)
            if isinstance(event, WorkloadDeactivated):
                view.deactivated_by = decision
            if view.local_queue != before:
                self._named.discard(before, view.key)
            self._count(view)
            self.changed["Workload", view.key] = None

    def _update_parent(
        self, view: WorkloadView, event: FactEvent | DecisionEvent, decision: str
    ) -> None:
        parent = self.workloads.get(view.parent)
        if parent is not None and siblings.forward(parent, view, event):
            self._mark_parent(parent.key, decision)

    def _mark_parent(self, key: str, decision: str) -> None:
        if (parent := self.workloads.get(key)) is not None:
            parent.decision = decision
            self._count(parent)
            self.changed["Workload", key] = None

    def _apply_queue_event(self, event: FactEvent | DecisionEvent) -> None:
        match event:
            case ClusterQueueDefined():
                self.cluster_queues[event.name] = event
                self._apply_definition(event)
                self._mark_queue(event.name)
            case ClusterQueueRemoved():
                self.cluster_queues.pop(event.name, None)
                self.readiness[event.name] = statuses.readiness_of_removed(event)
                self._apply_definition(event)
                self._mark_queue(event.name)
                self._forget_unnamed(event.name)
            case CohortDefined():
                self.cohorts.add(event.name)
                self._apply_definition(event)
                self.changed["Cohort", event.name] = None
            case CohortRemoved():
                self.cohorts.discard(event.name)
                self._apply_definition(event)
            case PolicyConfigured():
                self._apply_definition(event)
            case LocalQueueDefined():
                self.local_queues[statuses.key_of(event)] = event
                self._set_cluster_queue(statuses.key_of(event), event.spec.cluster_queue)
            case LocalQueueRemoved():
                self.local_queues.pop(statuses.key_of(event), None)
                self._set_cluster_queue(statuses.key_of(event), "")
            case _:
                pass

    def _apply_class_event(self, event: FactEvent | DecisionEvent) -> None:
        """Take in a class's value, which the Workloads that name it show."""
        if name := apply_class_event(self.priorities, event):
            named = (key for key, w in self.workloads.items() if name in w.priority_classes)
            self.changed.update(dict.fromkeys(("Workload", key) for key in named))

    def _apply_definition(self, event: Redefined) -> None:
        self.shares.define(event)
        self.changed[SHARES] = None

    def _add_workload(self, event: WorkloadSubmitted, decision: str) -> None:
        view = new_view(event)
        view.decision = decision
        siblings.note_first_workload(view, self.workloads)
        if event.variant_of and not view.direct:
            siblings.join_parent(view, event, self.workloads)
            self._mark_parent(view.parent, decision)
        self.removed.pop(view.key, None)
        self.workloads[view.key] = view
        self._count(view)
        self.changed["Workload", view.key] = None

    def _apply_repetition(self, event: ReservationRepeated, decision: str) -> None:
        """Apply a repeated reservation; it introduces a workload unknown to EVENTS."""
        view = self.workloads.get(event.workload)
        if view is None:
            view = self.workloads[event.workload] = new_view(event)
            self.removed.pop(view.key, None)
        repeat_reservation(view, event)
        checks.follow_checks(view, event, decision)
        view.decision = decision
        self._count(view)
        self.changed["Workload", view.key] = None

    def _remove_workload(self, event: WorkloadRemoved | VariantDeleted | WorkloadExpired) -> None:
        view = self.workloads.pop(event.workload, None)
        if view is None:
            return
        self._replace_share(view.key, NOTHING)
        self._named.discard(view.local_queue, view.key)
        if isinstance(event, VariantDeleted) and event.last:
            self._clear_variants(event)
        view.stays = not object_is_deleted(view, event)
        if needs_cleanup(view, event):
            self.removed[view.key] = view
            self.changed["Workload", view.key] = None

    def _clear_variants(self, event: VariantDeleted) -> None:
        parent = self.workloads.get(event.parent)
        if parent is not None:
            siblings.clear_variants(parent)
            self._mark_parent(parent.key, parent.decision)

    def _set_cluster_queue(self, local_queue: str, cluster_queue: str) -> None:
        """Let a LocalQueue lead to a ClusterQueue; empty: it is gone."""
        self._forget_unnamed(self._named.lead(local_queue, cluster_queue))
        for key in self._named.workloads(local_queue):
            self._count(self.workloads[key])
        self.changed["LocalQueue", local_queue] = None

    def _count(self, view: WorkloadView) -> None:
        self.places = self.places or any(assignment.topology for assignment in view.assignment)
        self._named.add(view.local_queue, view.key)
        self._replace_share(view.key, workload_share(view, self._named.leads_to))

    def _replace_share(self, key: str, new: Share) -> None:
        for share, sign in self.numbers.replace(key, new):
            if share.cluster_queue:
                self.changed["ClusterQueue", share.cluster_queue] = None
                self._charge_share(share, sign)
            if share.local_queue:
                self.changed["LocalQueue", share.local_queue] = None

    def _forget_unnamed(self, cluster_queue: str) -> None:
        """Forget since when a ClusterQueue is gone once no LocalQueue leads to it."""
        is_gone = cluster_queue in self.readiness and cluster_queue not in self.cluster_queues
        if is_gone and not any(self._named.leading_to(cluster_queue)):
            del self.readiness[cluster_queue]

    def _charge_share(self, usage_share: Share, sign: int) -> None:
        if usage_share.usage:
            self.shares.charge(usage_share.cluster_queue, usage_share.usage, sign)
        if usage_share.usage and self.shares.on:
            above = self.shares.cohorts_above(usage_share.cluster_queue)
            self.changed.update(dict.fromkeys(("Cohort", name) for name in above))

    def _mark_queue(self, name: str) -> None:
        """A ClusterQueue's readiness shows on its LocalQueues too."""
        self.changed["ClusterQueue", name] = None
        self.changed.update(
            dict.fromkeys(("LocalQueue", key) for key in self._named.leading_to(name))
        )
