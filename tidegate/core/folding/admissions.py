"""Folds decisions about workloads: quota reserved and released, orders, intents, evictions."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from tidegate.contracts.decisions import (
    PreemptionAbandoned,
    PreemptionIntended,
    QuotaReleased,
    QuotaReserved,
    ReservationRepeated,
    StartOrdered,
    StopOrdered,
    WorkloadAdmitted,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadExpired,
    WorkloadPending,
    WorkloadPreempted,
    WorkloadRequeued,
)
from tidegate.contracts.phases import HOLDING, SLICE_REPLACED
from tidegate.core.folding.strays import fold_stray
from tidegate.core.preemption.trial import fold_displaced_preemption
from tidegate.core.queueing import admission_fair_sharing
from tidegate.core.queueing.heads import dequeue, enqueue
from tidegate.core.queueing.quota_ops import (
    charge_quota,
    deactivate,
    end_intent,
    mark_evicting,
    record_start,
    release_quota,
)
from tidegate.core.queueing.siblings import charges_beyond_replaced, transfer_job
from tidegate.core.quota.charging import charges_of, requests_digest
from tidegate.core.quota.forest import count_intent_usage, forest
from tidegate.core.state import deadlines
from tidegate.core.state.desired_state import repeated_stop, set_repair_deadline
from tidegate.core.state.interning import intern_tried
from tidegate.core.state.remotes import clear_run
from tidegate.core.state.scheduling_queue import (
    invalidate_topology_trees,
    record_usage_change,
    set_inadmissible,
)
from tidegate.core.state.state import Intent, Order, PendingStatus, State, Workload
from tidegate.core.topology.cluster import mark_unhealthy_nodes
from tidegate.core.topology.explain import first_tried

STOPPED = ("ClusterQueueStopped", "LocalQueueStopped")  # it waits until its queue is resumed
_Quota: TypeAlias = QuotaReserved | ReservationRepeated | WorkloadAdmitted | QuotaReleased
_Order: TypeAlias = StartOrdered | StopOrdered
_Preemption: TypeAlias = PreemptionIntended | PreemptionAbandoned | WorkloadPreempted
_Eviction: TypeAlias = WorkloadEvicted | WorkloadRequeued | WorkloadDeactivated | WorkloadExpired
AdmissionEvent: TypeAlias = _Quota | _Order | _Preemption | _Eviction | WorkloadPending


def apply_decision(state: State, event: AdmissionEvent) -> None:
    """Fold a decision about a workload; about an unknown one it ends an intent or stops a stray."""
    workload = state.workloads.get(event.workload)
    if isinstance(event, PreemptionAbandoned):
        end_intent(state, event.workload)
    if workload is None or (event.uid and workload.uid != event.uid):
        _fold_stray_stop(state, event)
        return
    match event:
        case QuotaReserved() | ReservationRepeated() | WorkloadAdmitted() | QuotaReleased():
            _fold_quota(state, workload, event)
        case StartOrdered() | StopOrdered():
            _fold_order(state, workload, event)
        case WorkloadPending():
            _fold_pending(state, workload, event)
        case PreemptionIntended() | PreemptionAbandoned() | WorkloadPreempted():
            _fold_preemption(state, workload, event)
        case WorkloadEvicted() | WorkloadRequeued() | WorkloadDeactivated() | WorkloadExpired():
            _fold_eviction(state, workload, event)
        case _:
            assert_never(event)


def _fold_stray_stop(state: State, event: AdmissionEvent) -> None:
    if isinstance(event, StopOrdered):
        fold_stray(state, event)


def _fold_quota(state: State, workload: Workload, event: _Quota) -> None:
    match event:
        case QuotaReserved():
            _fold_reserved(state, workload, event)
        case ReservationRepeated():
            workload.reissues, workload.reissued_us = event.attempt, event.at_us
            workload.unpublished = False
        case WorkloadAdmitted():
            workload.phase, workload.recovering = "admitted", False
            workload.admitted_us = event.at_us
            record_start(state, workload)
            admission_fair_sharing.consume_penalty(state, workload)
            state.forest.to_reconcile[workload.key] = None
            mark_unhealthy_nodes(state, workload)
            set_repair_deadline(state, workload)
        case QuotaReleased():
            _fold_released(state, workload, event)
        case _:
            assert_never(event)


def _fold_reserved(state: State, workload: Workload, event: QuotaReserved) -> None:
    state.cycle = max(state.cycle, event.cycle)
    dequeue(state, workload)
    if state.sticky.get(workload.cluster_queue) == workload.key:
        del state.sticky[workload.cluster_queue]
    release_quota(state, workload, outside=False)  # a second reservation replaces the first
    workload.phase, workload.reserved_us = "reserved", event.at_us
    workload.evicted_reason = workload.preempted_reason = workload.requeue_reason = ""
    workload.made_way_for = workload.mismatch = ""
    workload.evicted_us = workload.displaced_seq = workload.reissues = workload.reissued_us = 0
    workload.inadmissible = workload.stopped = False
    workload.pending_status = workload.scan = None
    if event.checks and state.requeue.rechecks:
        workload.checks, workload.checks_seq = {}, state.seq  # reset
    charge_quota(state, workload, event.cluster_queue or workload.cluster_queue, event.assignment)
    end_intent(state, workload.key)
    admission_fair_sharing.charge_penalty(state, workload)
    state.forest.to_reconcile[workload.key] = None


def _fold_released(state: State, workload: Workload, event: QuotaReleased) -> None:
    release_quota(state, workload, outside=workload.evicted_reason != "Preempted")
    replaced = event.reason == SLICE_REPLACED
    workload.phase = "finished" if replaced else "pending"
    workload.finished_us = event.at_us if replaced else workload.finished_us
    if workload.admitted_us:
        workload.executed_us += event.at_us - workload.admitted_us
    workload.stopped, workload.reserved_us, workload.admitted_us = False, 0, 0
    if replaced:
        transfer_job(state, workload)
    workload.dispatch = clear_run(workload.dispatch)
    admission_fair_sharing.drop_penalty(state, workload)
    _reset_checks(state, workload)
    set_repair_deadline(state, workload)


def _fold_order(state: State, workload: Workload, event: _Order) -> None:
    match event:
        case StartOrdered():
            workload.order = Order(kind="start", seq=state.seq, at_us=event.at_us)
            workload.recovered = False
        case StopOrdered():
            first, between = repeated_stop(workload)
            workload.order = Order(
                kind="stop", seq=state.seq, at_us=event.at_us, first=first, between=between
            )
        case _:
            assert_never(event)
    workload.failure = None
    set_repair_deadline(state, workload)


def _fold_pending(state: State, workload: Workload, event: WorkloadPending) -> None:
    tried = tuple((row.podset, row.flavor, row.resource, row.reason) for row in event.tried)
    workload.pending_status = PendingStatus(
        reason=event.reason,
        others=event.others,
        tried=intern_tried(tried),
        requested=tuple(row.requested for row in event.tried),
        places=first_tried((placement.podset, placement.flavor) for placement in event.placements),
        requests=requests_digest(state, workload) if event.tried or event.placements else b"",
        inadmissible=event.inadmissible,
    )
    if event.cycle:
        workload.scan = (event.scan, event.cycle, state.seq) if event.scan else None
        state.cycle = max(state.cycle, event.cycle)
    if not state.requeue.by_event:
        return
    if event.reason == "WaitingForPreemptedWorkloads":
        state.sticky[workload.cluster_queue] = workload.key
    if not event.inadmissible:
        return
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    shape = workload.shape
    if cq is not None and shape is not None and event.shape:
        set_inadmissible(shape)
    else:
        workload.inadmissible = True
        enqueue(state, workload)


def _fold_preemption(state: State, workload: Workload, event: _Preemption) -> None:
    match event:
        case PreemptionIntended():
            _fold_intended(state, workload, event)
        case PreemptionAbandoned():
            workload.pending_status = None
            enqueue(state, workload)  # without its intent it competes again
            state.forest.to_reconcile[workload.key] = None
        case WorkloadPreempted():
            workload.preempted_reason, workload.displaced_seq = event.reason, state.seq
            workload.preempted_us = event.at_us
            if state.requeue.reserves_freed_quota:
                workload.made_way_for = event.by
        case _:
            assert_never(event)


def _fold_intended(state: State, workload: Workload, event: PreemptionIntended) -> None:
    state.cycle = max(state.cycle, event.cycle)
    workload.scan = None
    if not state.requeue.reserves_freed_quota:
        state.sticky[workload.cluster_queue] = workload.key
        return
    dequeue(state, workload)
    end_intent(state, workload.key)  # a second intent replaces the first
    intent = Intent(
        workload=workload.key,
        cluster_queue=workload.cluster_queue,
        victims=event.victims,
        assignment=event.assignment,
        charges=charges_beyond_replaced(state, workload, charges_of(workload, event.assignment)),
        seq=state.seq,
    )
    state.intents[workload.key] = intent
    for victim in event.victims:
        other = state.workloads.get(victim.workload)
        if other is not None and victim.reason == "FlavorMigration":
            other.made_way_for = workload.key  # other victims have a WorkloadPreempted for that
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    count_intent_usage(state.forest, intent, 1)
    enqueue(state, workload)
    if cq is not None:
        fold_displaced_preemption(state, cq, workload, event.victims)
        record_usage_change(state, cq)
    invalidate_topology_trees(state, intent.assignment)


def _fold_eviction(state: State, workload: Workload, event: _Eviction) -> None:
    match event:
        case WorkloadEvicted():
            workload.evicted_reason, workload.evicted_us = event.reason, event.at_us
            workload.recovered = False
            if workload.phase in HOLDING:
                workload.phase = "evicting"
                mark_evicting(state, workload)
                set_repair_deadline(state, workload)
                _void_successor_intent(state, workload)
            _reset_checks(state, workload)
            _set_backoff(workload, event)
        case WorkloadRequeued():
            _fold_requeued(state, workload, event)
        case WorkloadDeactivated():
            deactivate(state, workload, event.reason)
        case WorkloadExpired():
            workload.expired = True
        case _:
            assert_never(event)


def _void_successor_intent(state: State, workload: Workload) -> None:
    """Void the intent of the slice that was to replace an evicted one, and queue it again."""
    successor = state.workloads.get(workload.successor)
    if successor is not None:
        if successor.key in state.intents:
            intent = state.intents[successor.key]
            state.intents[successor.key] = replace(
                intent, void="the slice it replaces has to leave"
            )
        enqueue(state, successor)
        state.forest.to_reconcile[successor.key] = None


def _set_backoff(workload: Workload, event: WorkloadEvicted) -> None:
    workload.deactivated_cause = event.cause if event.reason == "Deactivated" else ""
    workload.requeue_after_us = max(workload.requeue_after_us, event.after_us)
    workload.requeue_count = event.attempts or workload.requeue_count


def _reset_checks(state: State, workload: Workload) -> None:
    """Reset all check states; the retry time of a check in Retry becomes the back-off."""
    for check in workload.checks.values():
        if check.state == "Retry":
            workload.requeue_after_us = max(workload.requeue_after_us, check.retry_us)
    workload.checks, workload.checks_seq = {}, state.seq


def _fold_requeued(state: State, workload: Workload, event: WorkloadRequeued) -> None:
    workload.phase, workload.inadmissible = "pending", False
    workload.requeue_after_us, workload.requeue_count = event.after_us, event.attempts
    workload.requeue_reason = event.reason if event.reason in STOPPED else ""
    queue = state.objects.local_queues.get(workload.local_queue)
    if queue is not None:
        workload.cluster_queue = queue.spec.cluster_queue
    if event.after_us > state.now_us:
        deadlines.set(state, f"requeue/{workload.key}", event.after_us)
    else:
        deadlines.clear(state, f"requeue/{workload.key}")
    enqueue(state, workload)
    state.forest.to_reconcile[workload.key] = None
