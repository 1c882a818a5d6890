"""One English sentence for each event about a budget."""

from __future__ import annotations

from tidegate.contracts.decision_kinds.queues import BudgetReached, BudgetRenewed
from tidegate.core.state.budgets import SPENT
from tidegate.model.calendar import utc_text
from tidegate.model.quantity import format_quantity


def budget_text(event: BudgetReached | BudgetRenewed) -> str:
    """Return the sentence of a budget event, with its amounts."""
    owner = f"ClusterQueue {event.cluster_queue}"
    if not event.cluster_queue:
        owner = f"Cohort {event.cohort}"
    spent, hours = (format_quantity(event.resource, units) for units in (event.spent, event.hours))
    amount = f"{spent} of {hours} {event.resource} hours"
    if isinstance(event, BudgetRenewed):
        until = utc_text(event.until_us)
        return (
            f"A new period of the budget of {owner} lasts until {until}; {amount} "
            "were spent before."
        )
    text = f"{event.percent} % of the budget of {owner} are spent: {amount}"
    until = utc_text(event.until_us)
    if event.hard and event.percent == SPENT:
        return f"{text}. No further workload is admitted before {until}."
    return f"{text}. It ends at {until}."
