"""A job's desired state, its observed state, and when to repeat an order if they differ.

Level-triggered: the order in force only tells since when the job should be in the desired state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tidegate.contracts.decision_kinds.copies import NAME_TAKEN
from tidegate.contracts.observations import JobState
from tidegate.core.members.placement import is_name_in_use, startable_copy
from tidegate.core.state import deadlines
from tidegate.core.state.state import Order, State, Workload
from tidegate.model.multikueue import ADAPTERS, CONTROLLER
from tidegate.model.texts import parse_whole

FAMILY = "repair"
INTERVAL_US_MAX = 300_000_000
"""Repetitions back off from ``Policy.repair_after_us``, doubling, to this."""
DOUBLINGS_MAX = 16
PATIENCE = 6
"""How many intervals the pods of a job that was suspended by its stop may take to end."""


def desired_order(workload: Workload) -> Literal["start", "stop"] | None:
    """Return the desired state of the job; None: none, because the job ended or is being deleted.

    A workload that is finished as out of sync ended without its job: that is still to be stopped.
    """
    if workload.state.deleting:
        return None
    if workload.body:
        return "start" if workload.phase == "admitted" else None  # its copy is deleted to stop
    if workload.phase == "finished":
        return "stop" if workload.out_of_sync else None
    if workload.acting or (workload.parent and workload.phase in ("pending", "inactive")):
        return None  # of several variants the one with quota counts, or else the parent
    if workload.phase == "admitted" and stays_gated(workload) and not is_marked(workload):
        return None
    if workload.phase == "reserved" and not is_unused_reservation(workload):
        return None
    return "start" if workload.phase == "admitted" else "stop"


def stays_gated(workload: Workload) -> bool:
    """Tell whether a worker cluster ran a workload whose pods in this cluster stay gated."""
    dispatch, adapter = workload.dispatch, ADAPTERS.get(workload.job.kind)
    return dispatch is not None and dispatch.ran and adapter is not None and adapter.gated


def is_marked(workload: Workload) -> bool:
    """Tell whether a start marks the pods of a workload even where they stay gated."""
    adapter = ADAPTERS.get(workload.job.kind)
    return adapter is not None and adapter.marked


def is_unused_reservation(workload: Workload) -> bool:
    """Tell whether a workload has quota that none of its job's pods can use yet.

    A slice that replaced a running one, and whose own checks are not ready, keeps its quota as an
    admitted workload does.
    """
    if workload.phase != "reserved":
        return False
    is_started = workload.order is not None and workload.order.kind == "start"
    return not (workload.elastic and is_started)


FORGED = "forged"
"""The job bears a forged decision: its order is repeated though its state is the desired one."""
REPEATED_MAX = 8
"""How many repetitions of a stop are remembered: the mark of any of them proves the stop."""


def is_as_desired(state: State, workload: Workload) -> bool:
    """Tell whether the observed job is in the desired state; an eviction needs a proven stop."""
    match desired_order(workload):
        case None:
            return True
        case _ if workload.failure is not None and workload.failure.reason == FORGED:
            return False
        case "start" if stays_gated(workload):
            order = workload.order
            marked = decision_seq(state, workload.state.decision)
            return order is not None and order.kind == "start" and marked >= order.seq
        case "start":
            return not (workload.state.suspended or workload.state.partly)
        case "stop":
            evicting = workload.phase == "evicting"
            return is_stopped(state, workload) if evicting else workload.state.suspended


def is_stopped(state: State, workload: Workload, job_state: JobState | None = None) -> bool:
    """Tell whether ``job_state`` (None: the newest observed) proves the ordered stop.

    Only this ledger's annotation counts, with the stop's seq or a later one: a job that looks idle
    may be about to start by an older order.
    """
    job_state, order = workload.state if job_state is None else job_state, workload.order
    if order is None or order.kind != "stop" or not _has_mark(state, workload, order, job_state):
        return False
    if _has_worker_status(workload):
        return job_state.suspended
    return job_state.suspended and not job_state.started and job_state.active == 0


def _has_worker_status(workload: Workload) -> bool:
    """Tell whether a job's status, but for its suspension, is a copy of a worker cluster's.

    The status of a lost worker stays on the job, also while no other worker has run it yet, and
    while a slice that was sent to no cluster stands for the job.
    """
    dispatch = workload.dispatch
    return CONTROLLER in workload.gates or (dispatch is not None and dispatch.ran)


def _has_mark(state: State, workload: Workload, order: Order, job_state: JobState) -> bool:
    """Tell whether a job bears the mark of an order, of one that it repeats, or of a later one.

    Repetitions count because, where orders take longer than the interval, each would otherwise
    void the proof that is under way, and be one more order to carry out. A later order counts if a
    workload of the same job has it. No other number counts: any editor of the job may write one.
    """
    seq = decision_seq(state, job_state.decision)
    if not seq:
        return False
    repeats = (order.first, *order.between)
    later = (
        other.order.seq for other in _related_workloads(state, workload) if other.order is not None
    )
    return seq == order.seq or seq in repeats or (seq > order.seq and seq in later)


def _related_workloads(state: State, workload: Workload) -> Iterator[Workload]:
    """Yield the other workloads of a job: its variants and their parent, its slices."""
    parent = state.workloads.get(workload.parent)
    variants = workload.variants if parent is None else parent.variants
    for key in (workload.parent, *variants, workload.replaces, workload.successor):
        other = state.workloads.get(key)
        if other is not None and other.job.uid == workload.job.uid:
            yield other


def repeated_stop(workload: Workload) -> tuple[int, tuple[int, ...]]:
    """Return the seqs of the stops that a stop ordered now repeats: the first, the newest others.

    0 and an empty tuple if it repeats none.
    """
    before = workload.order
    if before is None or before.kind != "stop" or not workload.repeated:
        return 0, ()
    if not before.first:
        return before.seq, ()
    return before.first, (*before.between, before.seq)[-REPEATED_MAX:]


def decision_seq(state: State, decision: str) -> int:
    """Return the seq of an annotation "<ledger id>/<seq>"; 0 if another ledger wrote it."""
    ledger_id, _, seq = decision.rpartition("/")
    return (parse_whole(seq) or 0) if ledger_id == state.ledger_id else 0


def set_repair_deadline(state: State, workload: Workload) -> None:
    """Set the deadline at which an order is repeated, or clear it; call it after each change.

    The stop of a job that runs without an admission is due at once.
    """
    key = f"{FAMILY}/{workload.key}"
    if is_as_desired(state, workload):
        deadlines.clear(state, key)
        workload.repeated = 0
        return
    at_us = _next_order_us(state, workload)
    if at_us > state.now_us:
        deadlines.set(state, key, at_us)
    else:
        deadlines.set_due(state, key)


def failure_reason(workload: Workload) -> str:
    """Return why the actuator could not carry out the order in force; "" if it did not report."""
    order, failure = workload.order, workload.failure
    is_current = order is not None and failure is not None and failure.decision_seq == order.seq
    return failure.reason if is_current and failure is not None else ""


def _next_order_us(state: State, workload: Workload) -> int:
    order, job_state = workload.order, workload.state
    if order is None or order.kind != desired_order(workload):
        workload.repeated = 0
        is_delayed = workload.phase == "admitted" and not (workload.prebuilt and order is None)
        return state.now_us + (state.policy.repair_after_us if is_delayed else 0)
    interval_us, reason = _interval_us(state, workload), failure_reason(workload)
    if reason == "gone":
        return order.at_us + max(INTERVAL_US_MAX, interval_us)
    if order.kind == "start" and order.creates and startable_copy(state, workload) is not None:
        return state.now_us
    if order.kind == "start":
        is_known = reason == "stale" and workload.state_us > order.at_us
        is_taken = reason == NAME_TAKEN and not is_name_in_use(state, workload)
        now = is_known or is_taken or reason == "invalid"
        return state.now_us if now else max(order.at_us, workload.state_us) + interval_us
    if not job_state.suspended and workload.resumed_us > order.at_us:
        return state.now_us  # it ran again after the stop, or an older start came late
    if job_state.suspended and _has_mark(state, workload, order, job_state):
        # The stop arrived, and only the pods have to end.
        return max(order.at_us, workload.state_us) + interval_us * PATIENCE
    return order.at_us + interval_us


def _interval_us(state: State, workload: Workload) -> int:
    after_us = state.policy.repair_after_us
    doubled = after_us << min(workload.repeated, DOUBLINGS_MAX)
    return min(doubled, max(INTERVAL_US_MAX, after_us))
