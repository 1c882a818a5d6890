"""Decisions about budgets: thresholds reached, and periods that ended."""

from __future__ import annotations

from typing import TypeAlias

from tidegate.contracts.decision_kinds.queue_decisions import Decision


class BudgetReached(Decision, frozen=True, kw_only=True, omit_defaults=True, tag="BudgetReached/1"):
    """A budget's use passed 80 % (a warning) or 100 % (a hard budget admits no more workloads)."""

    cluster_queue: str = ""  # the budget's; empty: the budget is a Cohort's
    cohort: str = ""
    resource: str
    percent: int  # the threshold that was reached
    hours: int  # of the budget, base units times hours
    spent: int  # base units times hours
    until_us: int  # when the period ends, UTC microseconds
    hard: bool = False


class BudgetRenewed(Decision, frozen=True, kw_only=True, omit_defaults=True, tag="BudgetRenewed/1"):
    """A budget's period ended and the next one began."""

    cluster_queue: str = ""  # the budget's; empty: the budget is a Cohort's
    cohort: str = ""
    resource: str
    hours: int  # of the budget, base units times hours
    spent: int  # in the period that ended, base units times hours
    since_us: int  # when counting began in that period, UTC microseconds
    until_us: int  # when the new period ends, UTC microseconds


BudgetDecision: TypeAlias = BudgetReached | BudgetRenewed
