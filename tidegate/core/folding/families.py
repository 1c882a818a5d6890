"""How the making of variants, and whatever happens to one, changes its family.

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
from tidegate.contracts.definitions import PolicyConfigured
from tidegate.contracts.facts import (
    WorkloadAdopted,
    WorkloadChanged,
    WorkloadFact,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.core import deadlines
from tidegate.core.draft import Draft, Workload
from tidegate.core.families import (
    GATE,
    PREEMPTION_GATE,
    UNGATES,
    may_be_parent,
    variants,
)
from tidegate.core.folding.workloads import apply_workload
from tidegate.core.heads import leave, place
from tidegate.core.ordering import gate
from tidegate.core.wanted import watch

FamilyEvent: TypeAlias = VariantCreated | VariantDeleted | VariantUngated
PATIENCE_US = 300_000_000
"""How long a variant that may preempt is left alone before the next one may."""
_HANDED = "Deactivated"


_MOVING = (
    PreemptionIntended,
    PreemptionAbandoned,
    QuotaReleased,
    QuotaReserved,
    WorkloadEvicted,
)
"""What may let siblings wait for a variant, or wait for it no longer."""


def apply_family(draft: Draft, event: FamilyEvent) -> None:
    """Fold a decision about a family; of one that is not known it changes nothing."""
    parent = draft.workloads.get(event.parent)
    if parent is None:
        return
    match event:
        case VariantCreated():
            _make(draft, parent, event)
        case VariantDeleted():
            _drop(draft, parent, event)
        case VariantUngated():
            _open(draft, parent, event)
        case _:
            assert_never(event)
    draft.forest.agenda[parent.key] = None


def follow(draft: Draft, event: WorkloadFact | WorkloadDecision) -> None:
    """Let a family know what happened to one of it; to be called when that is folded."""
    workload = draft.workloads.get(event.workload)
    if workload is None:
        return
    if workload.parent:
        parent = draft.workloads.get(workload.parent)
        if parent is not None:
            _follow_variant(draft, parent, workload, event)
    elif workload.variants:
        _follow_parent(draft, workload, event)
    elif isinstance(event, WorkloadSubmitted | WorkloadChanged) and may_be_parent(draft, workload):
        draft.forest.agenda[workload.key] = None


def follow_policy(draft: Draft, event: PolicyConfigured) -> None:
    """Look at everybody again where it may have changed whether variants are made."""
    families = any(one.variants for one in draft.workloads.values())
    if families or gate(event.policy, GATE, default=False):
        draft.forest.agenda.update(dict.fromkeys(draft.workloads))


def end_due(draft: Draft) -> None:
    """Look at those parents again whose next variant may preempt by now."""
    if draft.deadlines.due:
        for key in deadlines.due(draft, UNGATES):
            deadlines.clear(draft, f"{UNGATES}/{key}")
            draft.forest.agenda[key] = None


def _make(draft: Draft, parent: Workload, event: VariantCreated) -> None:
    if parent.phase == "pending":
        leave(draft, parent)
        if draft.sticky.get(parent.cluster_queue) == parent.key:
            del draft.sticky[parent.cluster_queue]
        parent.phase, parent.held = "parent", None
        watch(draft, parent)
    apply_workload(draft, event.asked)
    parent.variants = (*parent.variants, event.workload)


def _drop(draft: Draft, parent: Workload, event: VariantDeleted) -> None:
    gone = WorkloadRemoved(at_us=event.at_us, workload=event.workload, uid=event.uid)
    apply_workload(draft, gone)
    if event.last and parent.phase == "parent":
        deadlines.clear(draft, f"{UNGATES}/{parent.key}")
        parent.phase = "pending"
        place(draft, parent)


def _open(draft: Draft, parent: Workload, event: VariantUngated) -> None:
    variant = draft.workloads.get(event.workload)
    if variant is None:
        return
    left = tuple(one for one in variant.preemption_gates if one != PREEMPTION_GATE)
    variant.preemption_gates, variant.held = left, None
    variant.parked, variant.scan = False, ()
    place(draft, variant)
    deadlines.set(draft, f"{UNGATES}/{parent.key}", event.at_us + PATIENCE_US)


def _follow_variant(
    draft: Draft, parent: Workload, variant: Workload, event: WorkloadFact | WorkloadDecision
) -> None:
    draft.forest.agenda[parent.key] = None
    _follow_holder(draft, parent, variant, event)
    if isinstance(event, _MOVING):
        for one in variants(draft, parent):
            if one.phase == "pending" and one is not variant:
                place(draft, one)
                draft.forest.agenda[one.key] = None


def _follow_holder(
    draft: Draft, parent: Workload, variant: Workload, event: WorkloadFact | WorkloadDecision
) -> None:
    match event:
        case QuotaReserved() | WorkloadAdopted():
            _act(draft, parent, variant)
        case QuotaReleased():
            if parent.acting == variant.key:
                parent.acting, parent.executed_us = "", variant.executed_us
                watch(draft, parent)
        case StartOrdered() | StopOrdered():
            parent.order, parent.failure = variant.order, None
        case _:
            pass


def _act(draft: Draft, parent: Workload, variant: Workload) -> None:
    """Let a variant act for the job: it is as its parent was told, and ran as long."""
    parent.acting = variant.key
    variant.state, variant.state_us = parent.state, parent.state_us
    variant.version = max(variant.version, parent.version)
    variant.ready, variant.ready_us = parent.ready, parent.ready_us
    variant.executed_us = parent.executed_us
    if not any(_may_preempt(one) for one in variants(draft, parent)):
        deadlines.clear(draft, f"{UNGATES}/{parent.key}")
    watch(draft, parent)
    watch(draft, variant)


def _may_preempt(variant: Workload) -> bool:
    return variant.phase == "pending" and PREEMPTION_GATE not in variant.preemption_gates


def _follow_parent(draft: Draft, parent: Workload, event: WorkloadFact | WorkloadDecision) -> None:
    draft.forest.agenda[parent.key] = None
    match event:
        case WorkloadChanged():
            found = draft.objects.local_queues.get(parent.local_queue)
            parent.cluster_queue = "" if found is None else found.spec.cluster_queue
        case WorkloadDeactivated() if event.reason != _HANDED:
            parent.deactivated_cause, parent.evicted_us = event.reason, event.at_us
        case _:
            pass
