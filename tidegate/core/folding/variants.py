"""Folds decisions about variants, and the effects of other events on a parent and its variants.

Source: behaviour.md 14.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts.decisions import (
    PreemptionAbandoned,
    PreemptionIntended,
    QuotaReleased,
    QuotaReserved,
    StartOrdered,
    StopOrdered,
    VariantCreated,
    VariantDeleted,
    VariantUngated,
    WorkloadDeactivated,
    WorkloadDecision,
    WorkloadEvicted,
)
from tidegate.contracts.fact_kinds.definitions import PolicyConfigured
from tidegate.contracts.facts import (
    WorkloadAdopted,
    WorkloadChanged,
    WorkloadFact,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.core.folding.workloads import apply_workload
from tidegate.core.queueing.heads import dequeue, enqueue
from tidegate.core.queueing.siblings import GATE, PREEMPTION_GATE, UNGATES, variants_of
from tidegate.core.state import deadlines
from tidegate.core.state.desired_state import set_repair_deadline
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate_enabled

VariantEvent: TypeAlias = VariantCreated | VariantDeleted | VariantUngated
PATIENCE_US = 300_000_000
"""How long a variant may preempt before the next variant's preemption gate opens."""
_DEACTIVATED = "Deactivated"


_AFFECTING_SIBLINGS = (
    PreemptionIntended,
    PreemptionAbandoned,
    QuotaReleased,
    QuotaReserved,
    WorkloadEvicted,
)
"""Events after which siblings may have to wait for a variant, or need not wait any more."""


def apply_variant(state: State, event: VariantEvent) -> None:
    """Fold a decision about a variant; if its parent is unknown, it changes nothing."""
    parent = state.workloads.get(event.parent)
    if parent is None:
        return
    match event:
        case VariantCreated():
            _fold_created(state, parent, event)
        case VariantDeleted():
            _fold_deleted(state, parent, event)
        case VariantUngated():
            _fold_ungated(state, parent, event)
        case _:
            assert_never(event)
    state.forest.to_reconcile[parent.key] = None


def update_variants(
    state: State, workload: Workload, event: WorkloadFact | WorkloadDecision
) -> None:
    """Update a parent and its variants after an event about one of them was folded.

    ``workload`` may also be one that is to become a parent.
    """
    if workload.parent:
        parent = state.workloads.get(workload.parent)
        if parent is not None:
            _update_from_variant(state, parent, workload, event)
    elif workload.variants:
        _update_from_parent(state, workload, event)
    elif isinstance(event, WorkloadSubmitted | WorkloadChanged):
        state.forest.to_reconcile[workload.key] = None


def reconcile_all(state: State, event: PolicyConfigured) -> None:
    """Reconcile all workloads if the policy may change which jobs have variants."""
    families = any(workload.variants for workload in state.workloads.values())
    if families or gate_enabled(event.policy, GATE):
        state.forest.to_reconcile.update(dict.fromkeys(state.workloads))


def reconcile_due_parents(state: State) -> None:
    """Reconcile parents whose next variant may preempt by now."""
    if state.deadlines.due:
        for key in deadlines.due(state, UNGATES):
            deadlines.clear(state, f"{UNGATES}/{key}")
            state.forest.to_reconcile[key] = None


def _fold_created(state: State, parent: Workload, event: VariantCreated) -> None:
    if parent.phase == "pending":
        dequeue(state, parent)
        if state.sticky.get(parent.cluster_queue) == parent.key:
            del state.sticky[parent.cluster_queue]
        parent.phase, parent.pending_status = "parent", None
        set_repair_deadline(state, parent)
    apply_workload(state, event.submission)
    parent.variants = (*parent.variants, event.workload)


def _fold_deleted(state: State, parent: Workload, event: VariantDeleted) -> None:
    removal = WorkloadRemoved(at_us=event.at_us, workload=event.workload, uid=event.uid)
    apply_workload(state, removal)
    if event.last and parent.phase == "parent":
        deadlines.clear(state, f"{UNGATES}/{parent.key}")
        parent.phase = "pending"
        enqueue(state, parent)


def _fold_ungated(state: State, parent: Workload, event: VariantUngated) -> None:
    variant = state.workloads.get(event.workload)
    if variant is None:
        return
    gates = tuple(
        preemption_gate
        for preemption_gate in variant.preemption_gates
        if preemption_gate != PREEMPTION_GATE
    )
    variant.preemption_gates, variant.pending_status = gates, None
    variant.inadmissible, variant.scan = False, None
    enqueue(state, variant)
    deadlines.set(state, f"{UNGATES}/{parent.key}", event.at_us + PATIENCE_US)


def _update_from_variant(
    state: State, parent: Workload, variant: Workload, event: WorkloadFact | WorkloadDecision
) -> None:
    state.forest.to_reconcile[parent.key] = None
    _update_parent(state, parent, variant, event)
    if isinstance(event, _AFFECTING_SIBLINGS):
        for sibling in variants_of(state, parent):
            if sibling.phase == "pending" and sibling is not variant:
                enqueue(state, sibling)
                state.forest.to_reconcile[sibling.key] = None


def _update_parent(
    state: State, parent: Workload, variant: Workload, event: WorkloadFact | WorkloadDecision
) -> None:
    match event:
        case QuotaReserved() | WorkloadAdopted():
            _set_acting(state, parent, variant)
        case QuotaReleased():
            if parent.acting == variant.key:
                parent.acting, parent.executed_us = "", variant.executed_us
                set_repair_deadline(state, parent)
        case StartOrdered() | StopOrdered():
            parent.order, parent.failure = variant.order, None
        case _:
            pass


def _set_acting(state: State, parent: Workload, variant: Workload) -> None:
    """Make a variant the acting one: it gets its parent's observed state and run time."""
    parent.acting = variant.key
    variant.state, variant.state_us = parent.state, parent.state_us
    variant.version = max(variant.version, parent.version)
    variant.ready, variant.ready_us = parent.ready, parent.ready_us
    variant.executed_us = parent.executed_us
    if not any(_may_preempt(sibling) for sibling in variants_of(state, parent)):
        deadlines.clear(state, f"{UNGATES}/{parent.key}")
    set_repair_deadline(state, parent)
    set_repair_deadline(state, variant)


def _may_preempt(variant: Workload) -> bool:
    return variant.phase == "pending" and PREEMPTION_GATE not in variant.preemption_gates


def _update_from_parent(
    state: State, parent: Workload, event: WorkloadFact | WorkloadDecision
) -> None:
    state.forest.to_reconcile[parent.key] = None
    match event:
        case WorkloadChanged():
            parent.cluster_queue = state.objects.queue_of(parent.local_queue)
        case WorkloadDeactivated() if event.reason != _DEACTIVATED:
            parent.deactivated_cause, parent.evicted_us = event.reason, event.at_us
        case _:
            pass
