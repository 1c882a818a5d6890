"""Admission checks: a workload with quota starts once all of its checks are ready.

Source: behaviour.md 9.1, 9.2.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tidegate.contracts.decisions import (
    DecisionEvent,
    WorkloadAdmitted,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadRequeued,
)
from tidegate.core.admission.injection import contradiction
from tidegate.core.admission.orders import evicted, eviction, start_order, stop_order
from tidegate.core.queueing.admissibility import barrier
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.state.desired_state import stays_gated
from tidegate.core.state.state import State, Workload

CHECK_FAILED = "AdmissionCheck"
FAILED_TO_START = "FailedToStart"
_SECOND_US = 1_000_000


def attend_checks(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return what the checks of a workload with quota make follow: it starts, or it leaves."""
    names = required_checks(state, workload.cluster_queue, workload.assignment)
    left = _failed(state, workload, names)
    if left is not None:
        return [left, stop_order(state, workload, reason=left.reason, message=left.message)]
    if workload.phase != "reserved" or any(_state(workload, name) != "Ready" for name in names):
        return []
    if any(one.delayed_topology == "Pending" for one in workload.assignment):
        return []  # it is placed first: see ``tidegate.core.admission.second_pass``
    barred = state.requeue.reconsiders and barrier(state, workload) is not None
    return [] if barred else _admitted(state, workload)


def attend_waiting_checks(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return what a check makes follow that spoke though its workload waits for quota."""
    left = _failed(state, workload, sorted(workload.checks))
    if left is None or not state.requeue.reconsiders:
        return []
    known: dict[str, Any] = {
        "at_us": state.now_us,
        "workload": workload.key,
        "uid": workload.uid,
        "cluster_queue": workload.cluster_queue,
    }
    if left.cause:
        return [left, WorkloadDeactivated(**known, reason=left.cause, message=left.message)]
    later = left.after_us > state.now_us
    requeued = WorkloadRequeued(
        **known,
        reason=CHECK_FAILED if later else "BackoffFinished",
        after_us=left.after_us if later else 0,
        attempts=workload.requeue_count,
    )
    return [left, requeued]


def _admitted(state: State, workload: Workload) -> list[DecisionEvent]:
    if said := contradiction(state, workload):
        return evicted(state, workload, "Deactivated", cause=FAILED_TO_START, message=said)
    admitted = WorkloadAdmitted(
        at_us=state.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        queue=workload.queue,
        waited_us=max(0, state.now_us - workload.created_us) if workload.created_us else 0,
    )
    return [admitted] if stays_gated(workload) else [admitted, start_order(state, workload)]


def _failed(state: State, workload: Workload, names: list[str]) -> WorkloadEvicted | None:
    """Return the eviction that a check asks for: rejections first, then what is to be retried."""
    if rejected := [name for name in names if _state(workload, name) == "Rejected"]:
        said = f"Admission check {_named(workload, rejected)} rejected."
        return eviction(state, workload, "Deactivated", cause=CHECK_FAILED, message=said)
    if retried := [name for name in names if _state(workload, name) == "Retry"]:
        said = f"Admission check {_named(workload, retried)} to be tried again."
        again = [workload.checks[name] for name in retried]
        after_us = max(one.at_us + one.requeue_after_s * _SECOND_US for one in again)
        delayed = after_us if any(one.requeue_after_s for one in again) else 0
        left = eviction(state, workload, CHECK_FAILED, message=said)
        return replace(left, after_us=delayed)
    return None


def _state(workload: Workload, name: str) -> str:
    told = workload.checks.get(name)
    return "Pending" if told is None else told.state


def _named(workload: Workload, names: list[str]) -> str:
    said = ((name, workload.checks[name].message) for name in names)
    return ", ".join(f"{name} ({message})" if message else name for name, message in said)
