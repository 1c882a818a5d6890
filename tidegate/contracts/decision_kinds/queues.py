"""Decisions about queues and budgets, and the roots of all decisions."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.contracts.facts import Event


class Decision(Event, frozen=True, kw_only=True):
    """Root of the decisions; never written itself."""


class WorkloadDecision(Decision, frozen=True, kw_only=True):
    """A decision about one workload."""

    workload: str  # "<namespace>/<name>"
    uid: str = ""
    cluster_queue: str = ""
    cycle: int = 0  # the scheduling cycle, if flavor scans depend on it; else 0


class ClusterQueueReadinessChanged(
    Decision, frozen=True, kw_only=True, tag="ClusterQueueReadinessChanged/1"
):
    """A ClusterQueue became active or inactive; the reasons are those of Kueue's Active."""

    cluster_queue: str
    active: bool
    reason: str
    message: str = ""


class ClusterQueueReleased(Decision, frozen=True, kw_only=True, tag="ClusterQueueReleased/1"):
    """The last usage of a deleted ClusterQueue was released: its quota no longer counts."""

    cluster_queue: str


class SampledUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decayed usage that one LocalQueue has consumed."""

    namespace: str
    name: str
    consumed: dict[str, str] = {}  # resource to cores, bytes or pieces, decimal text


class LocalQueueUsageSampled(Decision, frozen=True, kw_only=True, tag="LocalQueueUsageSampled/1"):
    """The usage of the LocalQueues of a ClusterQueue, for admission fair sharing."""

    cluster_queue: str
    usage: tuple[SampledUsage, ...] = ()


QueueDecision: TypeAlias = (
    ClusterQueueReadinessChanged | ClusterQueueReleased | LocalQueueUsageSampled
)


class BudgetReached(Decision, frozen=True, kw_only=True, tag="BudgetReached/1"):
    """A budget's use passed 80 % (a warning) or 100 % (a hard budget admits no more workloads)."""

    cluster_queue: str = ""  # the budget's; empty: the budget is a Cohort's
    cohort: str = ""
    resource: str
    percent: int  # the threshold that was reached
    hours: int  # of the budget, base units times hours
    spent: int  # base units times hours
    until_us: int  # when the period ends, UTC microseconds
    hard: bool = False


class BudgetRenewed(Decision, frozen=True, kw_only=True, tag="BudgetRenewed/1"):
    """A budget's period ended and the next one began."""

    cluster_queue: str = ""  # the budget's; empty: the budget is a Cohort's
    cohort: str = ""
    resource: str
    hours: int  # of the budget, base units times hours
    spent: int  # in the period that ended, base units times hours
    since_us: int  # when counting began in that period, UTC microseconds
    until_us: int  # when the new period ends, UTC microseconds


BudgetDecision: TypeAlias = BudgetReached | BudgetRenewed
