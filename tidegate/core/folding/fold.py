"""Folds events into the state, in place: one match that hands each family to its module.

Total: every type of event has its arm, and an event about an unknown object changes nothing, since
a ledger may hold one. A state changes only by this.
"""

from __future__ import annotations

from typing import assert_never

from tidegate.contracts.decision_kinds.clusters import DispatchDecision
from tidegate.contracts.decision_kinds.copies import CopyDecision
from tidegate.contracts.decision_kinds.placements import (
    NodeFailed,
    SecondPassFailed,
    TopologyAssigned,
)
from tidegate.contracts.decision_kinds.queues import (
    BudgetDecision,
    BudgetReached,
    BudgetRenewed,
    QueueDecision,
)
from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    ClusterQueueReleased,
    DecisionEvent,
    LocalQueueUsageSampled,
    OrderReissued,
    VariantCreated,
    VariantDeleted,
    VariantUngated,
    WorkloadDecision,
)
from tidegate.contracts.fact_kinds.clusters import (
    ClusterNamed,
    CopyFact,
    NominationReported,
    RemoteClusterChanged,
    RemoteFact,
)
from tidegate.contracts.fact_kinds.definitions import (
    LedgerOpened,
    Named,
    NodeDefined,
    NodePodsCleared,
    NodePodsReported,
    NodeRemoved,
    PolicyConfigured,
    QueueElsewhere,
    TopologyDefined,
    TopologyRemoved,
)
from tidegate.contracts.fact_kinds.handovers import HandoverRoot
from tidegate.contracts.fact_kinds.reception import (
    ClockSkewed,
    GapObserved,
    ObservationRefused,
    RoundCompleted,
    RoundStarted,
    StreamReplaced,
    TimePassed,
    WatchesExpected,
)
from tidegate.contracts.facts import (
    ActuationFailed,
    FactEvent,
    JobStateReported,
    StrayCleared,
    StrayReported,
    WorkloadFact,
)
from tidegate.core.folding import variants, workload_deadlines
from tidegate.core.folding.admissions import apply_decision
from tidegate.core.folding.definitions import DefinitionEvent, apply_definition, rebuild_forest
from tidegate.core.folding.handovers import apply_handover, forget_move, open_taken_trees
from tidegate.core.folding.nodes import apply_node, apply_placement
from tidegate.core.folding.observations import apply_observed
from tidegate.core.folding.strays import fold_stray
from tidegate.core.folding.workloads import apply_workload
from tidegate.core.members import copies
from tidegate.core.multikueue import nomination
from tidegate.core.multikueue.fold import (
    apply_cluster,
    apply_dispatch,
    forget_former_members,
    reconcile_drained_flavor,
)
from tidegate.core.queueing import admission_fair_sharing
from tidegate.core.queueing.siblings import may_be_parent
from tidegate.core.state import budgets
from tidegate.core.state.state import State


def apply(  # noqa: C901, PLR0912 - an arm a family
    state: State, event: FactEvent | DecisionEvent
) -> None:
    """Fold one event, the next of its ledger, into the state."""
    state.seq, state.now_us = state.seq + 1, max(state.now_us, event.at_us)
    match event:
        case JobStateReported() | ActuationFailed() | OrderReissued():
            apply_observed(state, event)
        case VariantCreated() | VariantDeleted() | VariantUngated():
            variants.apply_variant(state, event)
        case TopologyAssigned() | NodeFailed() | SecondPassFailed():
            apply_placement(state, event)
        case DispatchDecision():
            apply_dispatch(state, event)
        case CopyDecision() | CopyFact():
            copies.apply_copy(state, event)
        case WorkloadDecision():
            apply_decision(state, event)
            _update_dependents(state, event)
        case WorkloadFact():
            apply_workload(state, event)
            _update_dependents(state, event)
        case RemoteClusterChanged() | NominationReported() | RemoteFact() | ClusterNamed():
            apply_cluster(state, event)
        case PolicyConfigured():
            _fold_policy(state, event)
        case TopologyDefined() | TopologyRemoved() | NodeDefined() | NodeRemoved():
            apply_node(state, event)
        case NodePodsReported() | NodePodsCleared():
            apply_node(state, event)
        case QueueElsewhere():
            state.objects.elsewhere[event.name] = event
        case HandoverRoot():
            apply_handover(state, event)
        case Named():
            _fold_definition(state, event)
        case ClusterQueueReadinessChanged() | ClusterQueueReleased() | LocalQueueUsageSampled():
            _fold_queue_decision(state, event)
        case BudgetReached() | BudgetRenewed():
            _fold_queue_decision(state, event)
        case _:
            _fold_reception(state, event)


def _update_dependents(state: State, event: WorkloadDecision | WorkloadFact) -> None:
    workload = state.workloads.get(event.workload)
    if workload is not None and (workload.parent or may_be_parent(state, workload)):
        variants.update_variants(state, workload, event)
    workload_deadlines.update_deadlines(state, workload, event)
    if workload is not None and workload.job.kind in nomination.GROUPED_KINDS:
        nomination.update_groups(state, workload, event)
    if state.copies or (workload is not None and workload.body):
        copies.update_placed_job(state, workload, event)


def _fold_definition(state: State, event: DefinitionEvent) -> None:
    had_placement = copies.has_placement(state, event)
    apply_definition(state, event)
    forget_move(state, event)
    reconcile_drained_flavor(state, event)
    admission_fair_sharing.update_sampling(state, event)
    budgets.update_meters(state, event)
    copies.update_after_definition(state, event, had_placement=had_placement)


def _fold_policy(state: State, event: PolicyConfigured) -> None:
    apply_definition(state, event)
    variants.reconcile_all(state, event)
    forget_former_members(state)
    copies.recheck_placed_jobs(state)
    admission_fair_sharing.update_sampling(state, event)


def _fold_queue_decision(state: State, event: QueueDecision | BudgetDecision) -> None:
    """Fold a decision about a ClusterQueue or a budget."""
    match event:
        case ClusterQueueReadinessChanged():
            state.readiness[event.cluster_queue] = (event.active, event.reason, event.message)
        case ClusterQueueReleased():
            state.objects.removed_queues.pop(event.cluster_queue, None)
            rebuild_forest(state, event)
        case LocalQueueUsageSampled():
            admission_fair_sharing.fold_sample(state, event)
        case BudgetReached() | BudgetRenewed():
            if budgets.fold_report(state, event):
                rebuild_forest(state, event)
        case _:
            assert_never(event)


def apply_recorded(state: State, event: FactEvent | DecisionEvent) -> None:
    """Fold an entry of the ledger; one that contradicts the state is skipped and counted.

    It stays in the ledger, and each fold of it raises the same error at the same seq, so all states
    of one program version agree.
    """
    try:
        apply(state, event)
    except Exception:  # noqa: BLE001 - of one entry: the history goes on
        state.passed_over += 1


def _fold_reception(
    state: State,
    event: LedgerOpened
    | RoundStarted
    | RoundCompleted
    | WatchesExpected
    | GapObserved
    | StreamReplaced
    | ObservationRefused
    | TimePassed
    | ClockSkewed
    | StrayReported
    | StrayCleared,
) -> None:
    match event:
        case StrayReported() | StrayCleared():
            fold_stray(state, event)
        case TimePassed():
            apply_observed(state, event)
            workload_deadlines.end_guarantees(state)
            variants.reconcile_due_parents(state)
        case LedgerOpened() | RoundStarted() | RoundCompleted() | WatchesExpected():
            apply_observed(state, event)
            copies.update_after_round(state, event)
            open_taken_trees(state)
        case GapObserved() | StreamReplaced() | ObservationRefused() | ClockSkewed():
            apply_observed(state, event)
        case _:
            assert_never(event)
