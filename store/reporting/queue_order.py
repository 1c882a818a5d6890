"""The time that orders a waiting workload among those of its priority, in its row.

It depends on settings, too: those are kept as numbers beside the priority classes' values.
"""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

from store.reporting.rows import WorkloadRow, plain
from store.reporting.unit_of_work import EventPosition, UnitOfWork
from store.reporting.workloads import set_priority_class
from tidegate.contracts.decisions import QuotaReserved, WorkloadEvicted, WorkloadPreempted
from tidegate.contracts.facts import PolicyConfigured
from tidegate.contracts.queue_order import (
    PODS_READY_TIMEOUT,
    RECLAIM_WHILE_BORROWING,
    queue_order_us,
    reason_counts,
)
from tidegate.model.policy import Policy

Projected: TypeAlias = PolicyConfigured | QuotaReserved | WorkloadEvicted | WorkloadPreempted
_DEFAULT = Policy()
_SETTING = "counts"
"""The kind of the settings' rows; each is named by the reason that counts, 1, or does not, 0."""


def apply_queue_order(unit: UnitOfWork, at: EventPosition, event: Projected) -> None:
    """Note an eviction or preemption in its row, that a reservation ends it, or the settings."""
    if isinstance(event, PolicyConfigured):
        for reason in (PODS_READY_TIMEOUT, RECLAIM_WHILE_BORROWING):
            counts = int(reason_counts(event.policy, reason))
            set_priority_class(unit, at, _SETTING, reason, counts)
        for each in unit.live_workloads.values():
            _set_order(unit, each)
    elif (row := unit.live_workloads.get(event.workload)) is not None:
        _note(row, event)
        _set_order(unit, row)


def _note(row: WorkloadRow, event: QuotaReserved | WorkloadEvicted | WorkloadPreempted) -> None:
    match event:
        case QuotaReserved():
            row.evicted_reason = row.preempted_reason = ""
            row.evicted_us = row.preempted_us = 0
        case WorkloadEvicted():
            row.evicted_reason, row.evicted_us = plain(event.reason), event.at_us
        case WorkloadPreempted():
            row.preempted_reason, row.preempted_us = event.reason, event.at_us


def _set_order(unit: UnitOfWork, row: WorkloadRow) -> None:
    row.queue_order_us = queue_order_us(row, partial(_counts, unit))


def _counts(unit: UnitOfWork, reason: str) -> bool:
    setting = unit.priority_values.get((_SETTING, reason))
    return reason_counts(_DEFAULT, reason) if setting is None else bool(setting.value)
