"""How decisions about workloads change the draft: quota reserved, given back, orders, intents."""

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
from tidegate.core import deadlines, decay
from tidegate.core.charging import charged, requests_digest
from tidegate.core.draft import Draft, Held, Intent, Order, Workload
from tidegate.core.forest import HOLDING, forest, intend, touch
from tidegate.core.heads import leave, place
from tidegate.core.holding import begin_leaving, deactivate, give, let_in, take
from tidegate.core.shapes import park
from tidegate.core.strays import fold_stray
from tidegate.core.succession import beyond, hand_over
from tidegate.core.wanted import repeated_stop, watch

_Quota: TypeAlias = QuotaReserved | ReservationRepeated | WorkloadAdmitted | QuotaReleased
_Order: TypeAlias = StartOrdered | StopOrdered
_Preemption: TypeAlias = PreemptionIntended | PreemptionAbandoned | WorkloadPreempted
AdmissionEvent: TypeAlias = (
    _Quota
    | _Order
    | _Preemption
    | WorkloadPending
    | WorkloadEvicted
    | WorkloadRequeued
    | WorkloadDeactivated
    | WorkloadExpired
)


def apply_decision(draft: Draft, event: AdmissionEvent) -> None:
    """Fold a decision about a workload; about one that is not known it changes little."""
    workload = draft.workloads.get(event.workload)
    if isinstance(event, PreemptionAbandoned):
        let_in(draft, event.workload)
    if workload is None or (event.uid and workload.uid != event.uid):
        _of_stray(draft, event)
        return
    match event:
        case QuotaReserved() | ReservationRepeated() | WorkloadAdmitted() | QuotaReleased():
            _fold_quota(draft, workload, event)
        case StartOrdered() | StopOrdered():
            _order(draft, workload, event)
        case WorkloadPending():
            _hold(draft, workload, event)
        case PreemptionIntended() | PreemptionAbandoned() | WorkloadPreempted():
            _fold_preemption(draft, workload, event)
        case WorkloadEvicted() | WorkloadRequeued() | WorkloadDeactivated() | WorkloadExpired():
            _fold_eviction(draft, workload, event)
        case _:
            assert_never(event)


def _of_stray(draft: Draft, event: AdmissionEvent) -> None:
    if isinstance(event, StopOrdered):
        fold_stray(draft, event)


def _fold_quota(draft: Draft, workload: Workload, event: _Quota) -> None:
    match event:
        case QuotaReserved():
            _reserve(draft, workload, event)
        case ReservationRepeated():
            workload.asked, workload.asked_us = event.attempt, event.at_us
        case WorkloadAdmitted():
            workload.phase, workload.admitted_us = "admitted", event.at_us
            workload.recovering = False
            decay.consume(draft, workload)
            draft.forest.agenda[workload.key] = None
            watch(draft, workload)
        case QuotaReleased():
            _release(draft, workload, event)
        case _:
            assert_never(event)


def _reserve(draft: Draft, workload: Workload, event: QuotaReserved) -> None:
    draft.cycle = max(draft.cycle, event.cycle)
    leave(draft, workload)
    if draft.sticky.get(workload.cluster_queue) == workload.key:
        del draft.sticky[workload.cluster_queue]
    give(draft, workload, outside=False)  # a second reservation replaces the first
    workload.phase, workload.reserved_us = "reserved", event.at_us
    workload.evicted_reason = workload.preempted_reason = workload.requeue_reason = ""
    workload.evicted_us = workload.displaced_seq = 0
    workload.made_way_for = ""
    workload.parked, workload.held, workload.scan = False, None, ()
    workload.stopped, workload.mismatch = False, ""
    workload.asked = workload.asked_us = 0
    if event.checks and draft.policy.compatibility != "kueue":
        workload.checks, workload.checks_seq = {}, draft.seq  # each reservation is asked anew
    take(draft, workload, event.cluster_queue or workload.cluster_queue, event.assignment)
    let_in(draft, workload.key)
    decay.charge_penalty(draft, workload)
    draft.forest.agenda[workload.key] = None


def _release(draft: Draft, workload: Workload, event: QuotaReleased) -> None:
    preempted = workload.evicted_reason == "Preempted"
    give(draft, workload, outside=not preempted)
    replaced = event.reason == SLICE_REPLACED
    workload.phase = "finished" if replaced else "pending"
    workload.finished_us = event.at_us if replaced else workload.finished_us
    workload.stopped, workload.reserved_us = False, 0
    if workload.admitted_us:
        workload.executed_us += event.at_us - workload.admitted_us
        workload.admitted_us = 0
    decay.drop_penalty(draft, workload)
    _forget_checks(draft, workload)
    if replaced:
        hand_over(draft, workload)
    watch(draft, workload)


SLICE_REPLACED = "WorkloadSliceReplaced"  # why an older slice gives its quota over to the newer


def _order(draft: Draft, workload: Workload, event: _Order) -> None:
    match event:
        case StartOrdered():
            workload.order = Order(kind="start", seq=draft.seq, at_us=event.at_us)
        case StopOrdered():
            first, between = repeated_stop(workload)
            workload.order = Order(
                kind="stop", seq=draft.seq, at_us=event.at_us, first=first, between=between
            )
        case _:
            assert_never(event)
    workload.failure = None
    watch(draft, workload)


def _hold(draft: Draft, workload: Workload, event: WorkloadPending) -> None:
    workload.held = Held(
        reason=event.reason,
        others=event.others,
        tried=tuple((one.podset, one.flavor, one.resource, one.reason) for one in event.tried),
        asked=tuple(one.asked for one in event.tried),
        requests=requests_digest(draft, workload) if event.tried else b"",
        parked=event.parked,
    )
    if event.cycle:
        workload.scan, workload.scan_cycle = event.scan, event.cycle
        workload.scan_seq = draft.seq
        draft.cycle = max(draft.cycle, event.cycle)
    if draft.policy.compatibility != "kueue":
        return
    if event.reason == "WaitingForPreemptedWorkloads":
        draft.sticky[workload.cluster_queue] = workload.key
    if not event.parked:
        return
    room = forest(draft).rooms.get(workload.cluster_queue)
    shape = workload.shape
    if room is not None and shape is not None and event.shape:
        park(shape)
    else:
        workload.parked = True
        place(draft, workload)


def _fold_preemption(draft: Draft, workload: Workload, event: _Preemption) -> None:
    match event:
        case PreemptionIntended():
            _intend(draft, workload, event)
        case PreemptionAbandoned():
            workload.held = None
            place(draft, workload)  # without its intent it competes again
            draft.forest.agenda[workload.key] = None
        case WorkloadPreempted():
            workload.preempted_reason, workload.displaced_seq = event.reason, draft.seq
            workload.preempted_us = event.at_us
            if draft.policy.compatibility != "kueue":
                workload.made_way_for = event.by
        case _:
            assert_never(event)


def _intend(draft: Draft, workload: Workload, event: PreemptionIntended) -> None:
    draft.cycle = max(draft.cycle, event.cycle)
    workload.scan, workload.scan_cycle, workload.scan_seq = (), 0, 0
    if draft.policy.compatibility == "kueue":
        draft.sticky[workload.cluster_queue] = workload.key
        return
    leave(draft, workload)
    let_in(draft, workload.key)  # a second intent replaces the first
    intent = Intent(
        workload=workload.key,
        cluster_queue=workload.cluster_queue,
        victims=event.victims,
        assignment=event.assignment,
        charges=beyond(draft, workload, charged(workload, event.assignment)),
        seq=draft.seq,
    )
    draft.intents[workload.key] = intent
    for victim in event.victims:
        other = draft.workloads.get(victim.workload)
        if other is not None and victim.reason == "FlavorMigration":
            other.made_way_for = workload.key  # of other victims WorkloadPreempted tells
    room = forest(draft).rooms.get(workload.cluster_queue)
    intend(draft.forest, intent, 1)
    place(draft, workload)
    if room is not None:
        touch(draft, room.tree)


def _fold_eviction(
    draft: Draft,
    workload: Workload,
    event: WorkloadEvicted | WorkloadRequeued | WorkloadDeactivated | WorkloadExpired,
) -> None:
    match event:
        case WorkloadEvicted():
            workload.evicted_reason, workload.evicted_us = event.reason, event.at_us
            if workload.phase in HOLDING:
                workload.phase = "evicting"
                begin_leaving(draft, workload)
                watch(draft, workload)
                _call_off(draft, workload)
            _forget_checks(draft, workload)
            _back_off(workload, event)
        case WorkloadRequeued():
            _requeue(draft, workload, event)
        case WorkloadDeactivated():
            deactivate(draft, workload, event.reason)
        case WorkloadExpired():
            workload.expired = True
        case _:
            assert_never(event)


def _call_off(draft: Draft, workload: Workload) -> None:
    """Let nobody take the place of a slice that has to leave."""
    heir = draft.workloads.get(workload.successor)
    if heir is not None:
        if heir.key in draft.intents:
            intent = draft.intents[heir.key]
            draft.intents[heir.key] = replace(intent, void="the slice it replaces has to leave")
        place(draft, heir)
        draft.forest.agenda[heir.key] = None


def _back_off(workload: Workload, event: WorkloadEvicted) -> None:
    workload.deactivated_cause = event.cause if event.reason == "Deactivated" else ""
    workload.requeue_after_us = max(workload.requeue_after_us, event.after_us)
    workload.requeue_count = event.attempts or workload.requeue_count


def _forget_checks(draft: Draft, workload: Workload) -> None:
    """Let every check speak anew; one that told when to try again is remembered for that."""
    for told in workload.checks.values():
        if told.state == "Retry":
            after_us = told.at_us + told.requeue_after_s * _SECOND_US
            workload.requeue_after_us = max(workload.requeue_after_us, after_us)
    workload.checks, workload.checks_seq = {}, draft.seq


def _requeue(draft: Draft, workload: Workload, event: WorkloadRequeued) -> None:
    workload.phase, workload.parked = "pending", False
    workload.requeue_after_us, workload.requeue_count = event.after_us, event.attempts
    workload.requeue_reason = event.reason if event.reason in STOPPED else ""
    queue = draft.objects.local_queues.get(workload.local_queue)
    if queue is not None:
        workload.cluster_queue = queue.spec.cluster_queue
    if event.after_us > draft.now_us:
        deadlines.set(draft, f"requeue/{workload.key}", event.after_us)
    else:
        deadlines.clear(draft, f"requeue/{workload.key}")
    place(draft, workload)
    draft.forest.agenda[workload.key] = None


_SECOND_US = 1_000_000
STOPPED = ("ClusterQueueStopped", "LocalQueueStopped")
"""Reasons for which a workload waits until its queue is opened again."""
