"""The time that orders the workloads of one priority: creation, or an eviction that counts instead.

The core computes it from its state, the reports from the events: both call this module.

Source: behaviour.md 0 (queue-order timestamp).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tidegate.model.gates import gate_enabled
from tidegate.model.policy import Policy

PODS_READY_TIMEOUT = "PodsReadyTimeout"
"""Reason of evictions that count unless ``requeuingStrategy.timestamp`` is ``Creation``."""
RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
"""Reason of preemptions that count where priorities do not sort within a cohort."""
_CHECK_RETRY = "AdmissionCheck"
_LATER_US = 1_000


class Queued(Protocol):
    """What the time depends on; times in UTC microseconds, reasons empty where none counts."""

    created_us: int
    evicted_reason: str
    evicted_us: int
    preempted_reason: str
    preempted_us: int


def queue_order_us(workload: Queued, counts: Callable[[str], bool]) -> int:
    """Return the time since which a workload counts as waiting, UTC microseconds.

    ``counts``: tells of a reason whether it counts; asked only of workloads that have one.
    """
    if workload.evicted_reason and counts(workload.evicted_reason):
        return workload.evicted_us
    if workload.preempted_reason and counts(workload.preempted_reason):
        return workload.preempted_us + _LATER_US
    return workload.created_us


def reason_counts(policy: Policy, reason: str) -> bool:
    """Tell whether the time of an eviction or a preemption counts in place of the creation."""
    if reason == PODS_READY_TIMEOUT:
        ready = policy.pods_ready
        return ready is None or ready.requeuing_timestamp == "Eviction"
    if reason == RECLAIM_WHILE_BORROWING:
        return not gate_enabled(policy, "PrioritySortingWithinCohort")
    return reason == _CHECK_RETRY
