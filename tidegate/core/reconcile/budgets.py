"""Records that a budget reached a threshold or began a period: see ``core.state.budgets``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.contracts.decision_kinds.budgets import BudgetReached, BudgetRenewed
from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.state import deadlines
from tidegate.core.state.budgets import FAMILY, QUEUE, Meter, counted, reached
from tidegate.core.state.state import State


def watch_budgets(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield an event for each budget whose period is over, or that reached a threshold."""
    for key in deadlines.due(state, FAMILY):
        kind, name, resource = key.split("/", 2)
        meter = state.budgets.get(f"{kind}/{name}", {}).get(resource)
        if meter is not None:
            owner = {"cluster_queue" if kind == QUEUE else "cohort": name}
            yield _recorded(state, counted(meter, state.now_us), owner)


def _recorded(state: State, meter: Meter, owner: dict[str, Any]) -> list[DecisionEvent]:
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
    if (percent := reached(meter)) <= meter.reported_percent:
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
