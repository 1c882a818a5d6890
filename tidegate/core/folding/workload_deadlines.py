"""Deadlines of workloads, set by folds.

Five families: ``ready`` (its pods were not ready in time, or not ready again), ``execution`` (its
maximum execution time has passed), ``retention`` (its object is to be deleted), ``asked`` (its
Workload's status does not list the required checks; or the ledger goes on under another id) and
``guarantee`` (it may be preempted: its ClusterQueue's minimum run time has passed).

Source: behaviour.md 8.6, 8.8, 10.
"""

from __future__ import annotations

from tidegate.contracts import decisions, facts
from tidegate.contracts.phases import HOLDING
from tidegate.core.preemption.candidates import GUARANTEE
from tidegate.core.queueing.admission_checks import has_unobserved_check
from tidegate.core.queueing.heads import queue_inadmissible_workloads
from tidegate.core.quota.forest import forest
from tidegate.core.state import deadlines
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.scheduling_queue import invalidate_tree
from tidegate.core.state.state import State, Workload

READY, EXECUTION, RETENTION, ASKED = "ready", "execution", "retention", "asked"
INTERVAL_US_MAX = 300_000_000
_DOUBLINGS_MAX = 16
_SECOND_US = 1_000_000
_MOVING = frozenset(
    {
        facts.WorkloadAdopted,
        facts.WorkloadChanged,
        facts.WorkloadFinished,
        facts.CheckReported,
        facts.PodsReadyReported,
        decisions.QuotaReserved,
        decisions.ReservationRepeated,
        decisions.WorkloadAdmitted,
        decisions.WorkloadEvicted,
        decisions.WorkloadDeactivated,
        decisions.WorkloadExpired,
        decisions.QuotaReleased,
    }
)
"""Events that may move a deadline; ``WorkloadRemoved`` clears all by itself."""
_UNBLOCKING = frozenset(
    {
        facts.PodsReadyReported,
        facts.WorkloadFinished,
        facts.WorkloadRemoved,
        decisions.QuotaReleased,
    }
)
"""Events that may unblock admission, where that waits for the pods of admitted workloads."""


def update_deadlines(
    state: State,
    workload: Workload | None,
    event: facts.WorkloadFact | decisions.WorkloadDecision,
) -> None:
    """Set the deadlines of an event's workload, after the event was folded."""
    kind = type(event)
    if workload is not None and kind in _MOVING:
        set_deadlines(state, workload)
    unready = state.forest.unready
    if workload is not None and workload.phase in HOLDING and not workload.ready:
        unready[workload.key] = None
    else:
        unready.pop(event.workload, None)
    ready = state.policy.pods_ready
    if ready is not None and ready.block_admission and kind in _UNBLOCKING:
        for tree in forest(state).trees:
            invalidate_tree(state, tree)


def reset_all_deadlines(state: State) -> None:
    """Set the deadlines of all workloads again: the policy has changed."""
    for workload in state.workloads.values():
        set_deadlines(state, workload)


def reset_queue_deadlines(state: State, cq: ClusterQueueState) -> None:
    """Set the deadlines of a ClusterQueue's workloads with quota again: it has changed."""
    for workload in cq.holding.values():
        set_deadlines(state, workload)


def set_deadlines(state: State, workload: Workload) -> None:
    """Set or clear each of a workload's deadlines by its present state."""
    ready_us, ends_us = _ready_by_us(state, workload), _execution_ends_us(workload)
    expires_us, asks_us = _expires_us(state, workload), _next_repeat_us(state, workload)
    _set_guarantee(state, workload)
    if ready_us is ends_us is expires_us is asks_us is None and not workload.timed:
        return  # the usual case
    workload.timed = True
    _set(state, f"{READY}/{workload.key}", ready_us)
    _set(state, f"{EXECUTION}/{workload.key}", ends_us)
    _set(state, f"{RETENTION}/{workload.key}", expires_us)
    _set(state, f"{ASKED}/{workload.key}", asks_us)


def _set(state: State, key: str, at_us: int | None) -> None:
    if at_us is None:
        deadlines.clear(state, key)
    elif at_us > state.now_us:
        deadlines.set(state, key, at_us)
    else:
        deadlines.set_due(state, key)


def _set_guarantee(state: State, workload: Workload) -> None:
    """Set or clear the deadline until which a workload may not be preempted.

    A guarantee ends with the event that makes its deadline due, not with another fact that moves
    the clock: only a scheduler that begins to lead would notice such an end.
    """
    defined = state.objects.cluster_queues.get(workload.cluster_queue)
    least_us = 0 if defined is None else defined.spec.min_runtime_us
    if not least_us and not workload.guaranteed:
        return
    workload.guaranteed = True
    key = f"{GUARANTEE}/{workload.key}"
    until_us = workload.admitted_us + least_us
    if workload.phase == "admitted" and until_us > state.now_us:
        deadlines.set(state, key, until_us)
    elif workload.phase == "admitted" and state.deadlines.at.get(key) == until_us:
        return
    elif key in state.deadlines.at or key in state.deadlines.due:
        deadlines.clear(state, key)


def end_guarantees(state: State) -> None:
    """End the guarantees whose deadlines are due; the fold of TimePassed calls this."""
    for key in deadlines.due(state, GUARANTEE):
        deadlines.clear(state, f"{GUARANTEE}/{key}")
        workload = state.workloads.get(key)
        cq = None if workload is None else forest(state).cluster_queues.get(workload.cluster_queue)
        if cq is not None:
            invalidate_tree(state, cq.tree)
            if state.requeue.by_event:
                queue_inadmissible_workloads(state, cq.tree)


def is_admission_blocked(state: State) -> bool:
    """Tell whether admission waits until the pods of all workloads with quota are ready.

    Costs O(1) on average: a workload that is ready, or has lost its quota, is skipped once.
    """
    ready = state.policy.pods_ready
    if ready is None or not ready.block_admission:
        return False
    unready = state.forest.unready
    while unready:
        workload = state.workloads.get(next(reversed(unready)))
        if workload is not None and workload.phase in HOLDING and not workload.ready:
            return True
        unready.popitem()
    return False


def first_unready_workload(state: State) -> Workload | None:
    """Return a workload whose pods must be ready before others are admitted; None: none blocks.

    It is the first by its key, so that no order of events matters. Costs O(unready workloads).
    """
    if not is_admission_blocked(state):
        return None
    workloads = (state.workloads.get(key) for key in sorted(state.forest.unready))
    unready = (workload for workload in workloads if workload is not None and not workload.ready)
    return next(workload for workload in unready if workload.phase in HOLDING)


def _next_repeat_us(state: State, workload: Workload) -> int | None:
    if workload.unpublished and workload.phase in ("reserved", "admitted"):
        return state.now_us
    if not state.requeue.rechecks or not has_unobserved_check(state, workload):
        return None
    after_us = state.policy.repair_after_us << min(workload.reissues, _DOUBLINGS_MAX)
    return max(workload.reserved_us, workload.reissued_us) + min(after_us, INTERVAL_US_MAX)


def _ready_by_us(state: State, workload: Workload) -> int | None:
    pods_ready = state.policy.pods_ready
    if pods_ready is None or workload.phase != "admitted" or workload.ready:
        return None
    if not workload.recovering:
        return workload.admitted_us + pods_ready.timeout_us
    within_us = (
        pods_ready.timeout_us
        if pods_ready.recovery_timeout_us is None
        else pods_ready.recovery_timeout_us
    )
    return workload.ready_us + within_us if within_us else None


def _execution_ends_us(workload: Workload) -> int | None:
    if workload.phase != "admitted" or not workload.max_execution_s:
        return None
    return workload.admitted_us + workload.max_execution_s * _SECOND_US - workload.executed_us


def _expires_us(state: State, workload: Workload) -> int | None:
    policy = state.policy
    if workload.expired:
        return None
    if workload.phase == "finished" and policy.retain_finished_us is not None:
        return workload.finished_us + policy.retain_finished_us
    kept_us = policy.retain_deactivated_us
    deactivated = workload.phase == "inactive" and not workload.parent  # variants go with the job
    by_us = deactivated and workload.deactivated_cause
    return workload.evicted_us + kept_us if by_us and kept_us is not None else None
