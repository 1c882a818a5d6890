"""Timeouts: pods that are not ready, runs longer than their maximum, objects to be deleted.

``tidegate.core.folding.timing`` sets the deadlines; only heartbeats make them due.

Source: behaviour.md 2.6, 8.5, 8.6, 8.8, 10.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent, WorkloadEvicted, WorkloadExpired
from tidegate.core.admission.orders import evicted, stop_orders
from tidegate.core.folding.timing import EXECUTION, READY, RETENTION
from tidegate.core.members.standing import is_silent
from tidegate.core.reconcile.reconcile_workload import DEACTIVATED
from tidegate.core.state import deadlines
from tidegate.core.state.state import State, Workload, about
from tidegate.model.policy import PodsReady

PODS_READY_TIMEOUT = "PodsReadyTimeout"
LIMIT_EXCEEDED = "RequeuingLimitExceeded"
TOO_LONG = "MaximumExecutionTimeExceeded"
_DOUBLINGS_MAX = 32


def time_out(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield the decisions for each workload with a due deadline; folding them clears it."""
    for family, follows in (
        (READY, _not_ready),
        (EXECUTION, _ran_too_long),
        (RETENTION, _expired),
    ):
        for key in deadlines.due(state, family):
            workload = state.workloads.get(key)
            if workload is not None and not is_silent(state, workload):
                yield follows(state, workload)


def backoff_us(ready: PodsReady, attempts: int) -> int:
    """Return the back-off after a workload's n-th eviction (from 1): doubling, bounded."""
    doubled = ready.backoff_base_us << min(attempts - 1, _DOUBLINGS_MAX)
    return min(doubled, ready.backoff_max_us)


def _not_ready(state: State, workload: Workload) -> list[DecisionEvent]:
    ready = state.policy.pods_ready
    assert ready is not None, "without waitForPodsReady nothing is due"
    attempts, limit = workload.requeue_count + 1, ready.backoff_limit_count
    if limit is not None and attempts > limit:
        message = f"Its pods were not ready in time, {attempts} times; {limit} are allowed."
        return evicted(state, workload, DEACTIVATED, cause=LIMIT_EXCEEDED, message=message)
    within = "again after one had failed" if workload.recovering else "after it was admitted"
    event = WorkloadEvicted(
        **about(state, workload),
        reason=PODS_READY_TIMEOUT,
        cause="WaitForRecovery" if workload.recovering else "WaitForStart",
        message=f"Its pods were not all ready in time {within}.",
        after_us=state.now_us + backoff_us(ready, attempts),
        attempts=attempts,
    )
    orders = stop_orders(state, workload, reason=PODS_READY_TIMEOUT, message=event.message)
    return [event, *orders]


def _ran_too_long(state: State, workload: Workload) -> list[DecisionEvent]:
    message = f"It has run for {workload.max_execution_s} s, its maximum."
    return evicted(state, workload, DEACTIVATED, cause=TOO_LONG, message=message)


def _expired(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return that an object expires: a finished workload's Workload, or a deactivated one's job."""
    finished = workload.phase == "finished"
    direct = workload.job.kind == "workload"
    expired = WorkloadExpired(
        **about(state, workload),
        reason="AfterFinished" if finished else "AfterDeactivatedByKueue",
        job=workload.job if direct or not finished else None,
    )
    return [expired]
