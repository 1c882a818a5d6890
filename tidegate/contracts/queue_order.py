"""The time that orders the workloads of one priority: creation, or an eviction that counts instead.

The core computes it from its state, the reports from the events: both call this module.

Source: behaviour.md 0 (queue-order timestamp).
"""

from __future__ import annotations

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


def queue_order_us(workload: Queued, *, by_timeout: bool, by_reclaim: bool) -> int:
    """Return the time since which a workload counts as waiting, UTC microseconds.

    ``by_timeout`` and ``by_reclaim`` are what ``counts_timeout`` and ``counts_reclaim`` return.
    """
    reason = workload.evicted_reason
    if reason == _CHECK_RETRY or (by_timeout and reason == PODS_READY_TIMEOUT):
        return workload.evicted_us
    if by_reclaim and workload.preempted_reason == RECLAIM_WHILE_BORROWING:
        return workload.preempted_us + _LATER_US
    return workload.created_us


def counts_timeout(policy: Policy) -> bool:
    """Tell whether an eviction counts of a workload whose pods were not ready in time."""
    ready = policy.pods_ready
    return ready is None or ready.requeuing_timestamp == "Eviction"


def counts_reclaim(policy: Policy) -> bool:
    """Tell whether a preemption by a workload that reclaims while it borrows counts."""
    return not gate_enabled(policy, "PrioritySortingWithinCohort")
