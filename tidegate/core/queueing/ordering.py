"""The order of workloads within a queue, and of heads within a cycle.

Every order is total: priority, then time, then uid, then key.

Source: behaviour.md 0 (queue-order timestamp), 3.2; conformance/queue-order, entry-ordering.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate
from tidegate.model.policy import Policy

_LATER_US = 1_000


class Entry(msgspec.Struct, kw_only=True, eq=False):
    """The fields that order a cycle's entries; ``nomination.nominate`` adds the others."""

    workload: Workload
    borrows: int = 0  # height of the smallest cohort subtree that holds it; 0: own quota
    is_preemptor: bool = False  # it preempted before and waits for its victims


def queue_time(policy: Policy, workload: Workload) -> int:
    """Return the time since which a workload counts as waiting, UTC microseconds.

    That is its creation, or its eviction if its pods were not ready in time or a check said Retry.
    """
    ready = policy.pods_ready
    match workload.evicted_reason:
        case "PodsReadyTimeout" if ready is None or ready.requeuing_timestamp == "Eviction":
            return workload.evicted_us
        case "AdmissionCheck":
            return workload.evicted_us
        case _:
            pass
    by_priority = gate(policy, "PrioritySortingWithinCohort")
    if not by_priority and workload.preempted_reason == "InCohortReclaimWhileBorrowing":
        return workload.preempted_us + _LATER_US
    return workload.created_us


def rank(policy: Policy, workload: Workload) -> tuple[int, int, str, str]:
    """Return a workload's order in its queue; the lowest is first."""
    since_us = queue_time(policy, workload)
    return (-workload.priority, since_us, workload.uid, workload.key)


def classic(state: State, entries: Iterable[Entry]) -> list[Entry]:
    """Return entries in the order in which a cycle without fair sharing processes them.

    Borrowing comes before priority: entries that borrow less go first.
    """
    policy = state.policy
    preemptors = gate(policy, "PrioritizePreemptorWorkloads")
    by_priority = gate(policy, "PrioritySortingWithinCohort")

    def key(entry: Entry) -> tuple[bool, int, int, int, str, str]:
        workload = entry.workload
        return (
            preemptors and not entry.is_preemptor,
            entry.borrows,
            -workload.priority if by_priority else 0,
            queue_time(policy, workload),
            workload.uid,
            workload.key,
        )

    return sorted(entries, key=key)
