"""Folds decisions about queues and budgets."""

from __future__ import annotations

from typing import assert_never

from tidegate.contracts.decision_kinds.budgets import BudgetDecision, BudgetReached, BudgetRenewed
from tidegate.contracts.decision_kinds.queue_decisions import (
    ClusterQueueReadinessChanged,
    ClusterQueueReleased,
    LocalQueueUsageSampled,
    QueueDecision,
)
from tidegate.core.folding.definitions import redefined
from tidegate.core.queueing.usage_samples import fold_sample
from tidegate.core.state import budgets
from tidegate.core.state.state import State


def apply_queue(state: State, event: QueueDecision | BudgetDecision) -> None:
    """Fold a decision about a ClusterQueue or a budget."""
    match event:
        case ClusterQueueReadinessChanged():
            state.readiness[event.cluster_queue] = (event.active, event.reason, event.message)
        case ClusterQueueReleased():
            state.objects.removed_queues.pop(event.cluster_queue, None)
            redefined(state, event)
        case LocalQueueUsageSampled():
            fold_sample(state, event)
        case BudgetReached() | BudgetRenewed():
            if budgets.fold_report(state, event):
                redefined(state, event)
        case _:
            assert_never(event)
