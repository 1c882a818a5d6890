"""What follows for a workload when a deadline passes: it is evicted, deleted or queued again.

``tidegate.core.folding.workload_deadlines`` sets the deadlines; only heartbeats make them due. A
workload in a silent cluster keeps its quota and its run.

Source: behaviour.md 2.6, 8.5, 8.6, 8.8, 10.
"""

from __future__ import annotations

from tidegate.contracts.decisions import (
    DecisionEvent,
    WorkloadEvicted,
    WorkloadExpired,
    WorkloadRequeued,
)
from tidegate.core.admission.orders import eviction_decisions, stop_orders
from tidegate.core.members.cluster_status import is_cluster_silent
from tidegate.core.reconcile.reconcile_workload import BACKOFF_FINISHED, DEACTIVATED
from tidegate.core.state.state import State, Workload, decision_fields
from tidegate.model.policy import PodsReady

PODS_READY_TIMEOUT = "PodsReadyTimeout"
LIMIT_EXCEEDED = "RequeuingLimitExceeded"
TOO_LONG = "MaximumExecutionTimeExceeded"
_DOUBLINGS_MAX = 32


def evict_not_ready(state: State, workload: Workload) -> list[DecisionEvent]:
    """Evict a workload whose pods were not ready in time, or deactivate it after too many tries."""
    if is_cluster_silent(state, workload):
        return []
    ready = state.policy.pods_ready
    assert ready is not None, "without waitForPodsReady nothing is due"
    attempts, limit = workload.requeue_count + 1, ready.backoff_limit_count
    if limit is not None and attempts > limit:
        message = f"Its pods were not ready in time, {attempts} times; {limit} are allowed."
        return eviction_decisions(
            state, workload, DEACTIVATED, cause=LIMIT_EXCEEDED, message=message
        )
    within = "again after one had failed" if workload.recovering else "after it was admitted"
    event = WorkloadEvicted(
        **decision_fields(state, workload),
        reason=PODS_READY_TIMEOUT,
        cause="WaitForRecovery" if workload.recovering else "WaitForStart",
        message=f"Its pods were not all ready in time {within}.",
        after_us=state.now_us + _backoff_us(ready, attempts),
        attempts=attempts,
    )
    orders = stop_orders(state, workload, reason=PODS_READY_TIMEOUT, message=event.message)
    return [event, *orders]


def _backoff_us(ready: PodsReady, attempts: int) -> int:
    """Return the back-off after a workload's n-th eviction (from 1): doubling, bounded."""
    doubled = ready.backoff_base_us << min(attempts - 1, _DOUBLINGS_MAX)
    return min(doubled, ready.backoff_max_us)


def evict_overdue(state: State, workload: Workload) -> list[DecisionEvent]:
    """Deactivate a workload that has run for its maximum execution time."""
    if is_cluster_silent(state, workload):
        return []
    message = f"It has run for {workload.max_execution_s} s, its maximum."
    return eviction_decisions(state, workload, DEACTIVATED, cause=TOO_LONG, message=message)


def expire_objects(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return that an object expires: a finished workload's Workload, or a deactivated one's job."""
    if is_cluster_silent(state, workload):
        return []
    finished = workload.phase == "finished"
    direct = workload.job.kind == "workload"
    expired = WorkloadExpired(
        **decision_fields(state, workload),
        reason="AfterFinished" if finished else "AfterDeactivatedByKueue",
        job=workload.job if direct or not finished else None,
    )
    return [expired]


def requeue_after_backoff(state: State, workload: Workload) -> list[DecisionEvent]:
    """Requeue a workload whose back-off is over."""
    again = WorkloadRequeued(
        **decision_fields(state, workload), reason=BACKOFF_FINISHED, attempts=workload.requeue_count
    )
    return [again]
