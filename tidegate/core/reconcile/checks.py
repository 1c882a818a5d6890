"""Admission checks: a workload with quota starts once all of its checks are ready.

Source: behaviour.md 9.1, 9.2.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts.decisions import (
    DecisionEvent,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadRequeued,
)
from tidegate.core.admission.injection import contradiction
from tidegate.core.admission.orders import evicted, eviction, started, stop_orders
from tidegate.core.queueing.admissibility import barrier
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.state.desired_state import is_marked, stays_gated
from tidegate.core.state.state import State, Workload, about

CHECK_FAILED = "AdmissionCheck"
FAILED_TO_START = "FailedToStart"
_SECOND_US = 1_000_000


def attend_checks(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the decisions that a workload's checks cause: it is admitted, evicted, or waits."""
    names = required_checks(state, workload.cluster_queue, workload.assignment)
    workload_evicted = _failed(state, workload, names)
    if workload_evicted is not None:
        why = {"reason": workload_evicted.reason, "message": workload_evicted.message}
        return [workload_evicted, *stop_orders(state, workload, **why)]
    if workload.phase != "reserved" or any(_state(workload, name) != "Ready" for name in names):
        return []
    if any(assignment.delayed_topology == "Pending" for assignment in workload.assignment):
        return []  # its pods are placed first: see ``tidegate.core.admission.second_pass``
    barred = state.requeue.reconsiders and barrier(state, workload) is not None
    return [] if barred else _admitted(state, workload)


def attend_waiting_checks(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the decisions that a failed check causes for a workload that waits for quota."""
    workload_evicted = _failed(state, workload, sorted(workload.checks))
    if workload_evicted is None or not state.requeue.reconsiders:
        return []
    fields = about(state, workload)
    if workload_evicted.cause:
        return [
            workload_evicted,
            WorkloadDeactivated(
                **fields, reason=workload_evicted.cause, message=workload_evicted.message
            ),
        ]
    later = workload_evicted.after_us > state.now_us
    requeued = WorkloadRequeued(
        **fields,
        reason=CHECK_FAILED if later else "BackoffFinished",
        after_us=workload_evicted.after_us if later else 0,
        attempts=workload.requeue_count,
    )
    return [workload_evicted, requeued]


def _admitted(state: State, workload: Workload) -> list[DecisionEvent]:
    if message := contradiction(state, workload):
        return evicted(state, workload, "Deactivated", cause=FAILED_TO_START, message=message)
    unordered = stays_gated(workload) and not is_marked(workload)
    decisions = started(state, workload)
    return decisions[:1] if unordered else decisions


def _failed(state: State, workload: Workload, names: list[str]) -> WorkloadEvicted | None:
    """Return the eviction that a check requires: Rejected comes before Retry."""
    if rejected := [name for name in names if _state(workload, name) == "Rejected"]:
        message = f"Admission check {_named(workload, rejected)} rejected."
        return eviction(state, workload, "Deactivated", cause=CHECK_FAILED, message=message)
    if retried := [name for name in names if _state(workload, name) == "Retry"]:
        message = f"Admission check {_named(workload, retried)} to be tried again."
        again = [workload.checks[name] for name in retried]
        after_us = max(
            state_of_check.at_us + state_of_check.requeue_after_s * _SECOND_US
            for state_of_check in again
        )
        delayed = after_us if any(state_of_check.requeue_after_s for state_of_check in again) else 0
        workload_evicted = eviction(state, workload, CHECK_FAILED, message=message)
        return replace(workload_evicted, after_us=delayed)
    return None


def _state(workload: Workload, name: str) -> str:
    state_of_check = workload.checks.get(name)
    return "Pending" if state_of_check is None else state_of_check.state


def _named(workload: Workload, names: list[str]) -> str:
    generator = ((name, workload.checks[name].message) for name in names)
    return ", ".join(f"{name} ({message})" if message else name for name, message in generator)
