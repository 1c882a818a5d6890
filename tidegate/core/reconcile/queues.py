"""Records changes of queues: deleted ones, whether they are active, their budgets and their usage.

A deleted ClusterQueue's quota counts until the last workload that runs there stops.

Source: docs/adr/0012; Kueue keeps the object until then by a finalizer (behaviour.md 8.9).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.contracts.decision_kinds.queues import BudgetReached, BudgetRenewed
from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    ClusterQueueReleased,
    DecisionEvent,
)
from tidegate.core.queueing.admission_fair_sharing import usage_sample
from tidegate.core.quota.forest import forest
from tidegate.core.quota.readiness import Readiness, readiness
from tidegate.core.state.budgets import QUEUE, Meter, advance_meter, reached_threshold
from tidegate.core.state.state import State
from tidegate.model.quota import COHORTS_MAX


def release_removed_queues(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield the release of each deleted ClusterQueue to which no workload is charged any more."""
    for name in list(state.objects.removed_queues):
        if not forest(state).cluster_queues[name].holding:
            yield [ClusterQueueReleased(at_us=state.now_us, cluster_queue=name)]
    forest(state)  # rebuilt for the rules that follow


def record_readiness(state: State) -> Iterator[list[DecisionEvent]]:
    """Record each ClusterQueue's readiness that differs from the one last recorded."""
    if state.forest.readiness_recorded:
        return
    for name, cq in list(state.forest.cluster_queues.items()):
        if name in state.objects.removed_queues:
            continue  # its deletion is recorded
        status = readiness(state, name)
        if status.active and cq.tree.cyclic:
            message = f"Its cohorts are their own ancestors, or more than {COHORTS_MAX}."
            status = Readiness(active=False, reason="CohortCycle", message=message)
        if state.readiness.get(name) != (status.active, status.reason, status.message):
            changed = ClusterQueueReadinessChanged(
                at_us=state.now_us,
                cluster_queue=name,
                active=status.active,
                reason=status.reason,
                message=status.message,
            )
            yield [changed]
    state.forest.readiness_recorded = True  # not before: a turn may be full in between


def sample_usage(state: State, cluster_queues: list[str]) -> Iterator[list[DecisionEvent]]:
    """Yield a sample of the usage that each ClusterQueue's LocalQueues have consumed."""
    for cluster_queue in cluster_queues:
        yield [usage_sample(state, cluster_queue)]


def record_budgets(state: State, budgets: list[str]) -> Iterator[list[DecisionEvent]]:
    """Yield an event for each budget whose period is over, or that reached a threshold."""
    for key in budgets:
        kind, name, resource = key.split("/", 2)
        meter = state.budgets.get(f"{kind}/{name}", {}).get(resource)
        if meter is not None:
            owner = {"cluster_queue" if kind == QUEUE else "cohort": name}
            yield _budget_events(state, advance_meter(meter, state.now_us), owner)


def _budget_events(state: State, meter: Meter, owner: dict[str, Any]) -> list[DecisionEvent]:
    budget = meter.budget
    if meter.past_us:
        renewed = BudgetRenewed(
            at_us=state.now_us,
            resource=budget.resource,
            hours=budget.hours,
            spent=meter.past_hours,
            since_us=meter.past_since_us,
            until_us=meter.until_us,
            **owner,
        )
        return [renewed]
    if (percent := reached_threshold(meter)) <= meter.reported_percent:
        return []
    budget_reached = BudgetReached(
        at_us=state.now_us,
        resource=budget.resource,
        percent=percent,
        hours=budget.hours,
        spent=meter.hours,
        until_us=meter.until_us,
        hard=budget.hard,
        **owner,
    )
    return [budget_reached]
