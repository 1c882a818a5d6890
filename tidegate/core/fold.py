"""How each event changes the draft, in place: one match that hands each family to its file.

Total: every type of event has its arm, and an event about something unknown changes nothing, since
an old ledger may hold one. Only here does a draft change.
"""

from __future__ import annotations

from typing import assert_never

from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    DecisionEvent,
    OrderReissued,
    VariantCreated,
    VariantDeleted,
    VariantUngated,
    WorkloadDecision,
)
from tidegate.contracts.definitions import LedgerOpened, Named, PolicyConfigured
from tidegate.contracts.facts import (
    ActuationFailed,
    FactEvent,
    JobStateReported,
    StrayCleared,
    StrayReported,
    WorkloadFact,
)
from tidegate.contracts.reception import (
    ClockSkewed,
    GapObserved,
    ObservationRefused,
    RoundCompleted,
    RoundStarted,
    StreamReplaced,
    TimePassed,
    WatchesExpected,
)
from tidegate.core import timing
from tidegate.core.draft import Draft
from tidegate.core.folding import families
from tidegate.core.folding.admissions import apply_decision
from tidegate.core.folding.definitions import apply_definition
from tidegate.core.folding.observed import apply_observed
from tidegate.core.folding.workloads import apply_workload
from tidegate.core.preemption import guarantee
from tidegate.core.strays import fold_stray


def apply(draft: Draft, event: FactEvent | DecisionEvent) -> None:
    """Apply one event to the draft: the next of its ledger."""
    draft.seq += 1
    draft.now_us = max(draft.now_us, event.at_us)
    match event:
        case JobStateReported() | ActuationFailed() | OrderReissued():
            apply_observed(draft, event)
        case VariantCreated() | VariantDeleted() | VariantUngated():
            families.apply_family(draft, event)
        case WorkloadDecision():
            apply_decision(draft, event)
            families.follow(draft, event)
            timing.follow(draft, event)
        case WorkloadFact():
            apply_workload(draft, event)
            families.follow(draft, event)
            timing.follow(draft, event)
        case PolicyConfigured():
            apply_definition(draft, event)
            families.follow_policy(draft, event)
        case Named():
            apply_definition(draft, event)
        case ClusterQueueReadinessChanged():
            draft.readiness[event.cluster_queue] = (event.active, event.reason, event.message)
        case _:
            _apply_reception(draft, event)


def apply_recorded(draft: Draft, event: FactEvent | DecisionEvent) -> None:
    """Apply an entry of the ledger; one that makes no sense is passed over and counted.

    It stands there for ever, and everybody who folds it meets the same error at the same place:
    so all drafts of one version agree.
    """
    try:
        apply(draft, event)
    except Exception:  # noqa: BLE001 - of one entry: the history goes on
        draft.passed_over += 1


def _apply_reception(
    draft: Draft,
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
            fold_stray(draft, event)
        case TimePassed():
            apply_observed(draft, event)
            guarantee.end_due(draft)
            families.end_due(draft)
        case LedgerOpened() | RoundStarted() | RoundCompleted() | WatchesExpected():
            apply_observed(draft, event)
        case GapObserved() | StreamReplaced() | ObservationRefused() | ClockSkewed():
            apply_observed(draft, event)
        case _:
            assert_never(event)
