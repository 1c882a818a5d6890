"""Folds facts about workloads: submitted, changed, adopted, stopped, finished, removed."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from tidegate.contracts.facts import (
    CheckReported,
    PodsReadyReported,
    PodsReclaimed,
    WorkloadAdopted,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadMismatched,
    WorkloadRemoved,
    WorkloadStopped,
    WorkloadSubmitted,
)
from tidegate.contracts.phases import HOLDING
from tidegate.core.multikueue.nomination import GROUPED_KINDS, unindex_group
from tidegate.core.queueing import admission_fair_sharing, heads, quota_ops
from tidegate.core.queueing.admission_checks import multikueue_check
from tidegate.core.queueing.siblings import (
    link_slices,
    reactivated_phase,
    remove_variant,
    set_replaced_slice,
)
from tidegate.core.quota.forest import forest
from tidegate.core.state import deadlines
from tidegate.core.state.desired_state import set_repair_deadline
from tidegate.core.state.interning import intern_workload
from tidegate.core.state.scheduling_queue import mark_dirty
from tidegate.core.state.state import CheckState, State, Workload
from tidegate.model.gates import gate_enabled

WorkloadEvent: TypeAlias = (
    WorkloadSubmitted
    | WorkloadChanged
    | WorkloadRemoved
    | WorkloadAdopted
    | WorkloadStopped
    | PodsReadyReported
    | PodsReclaimed
    | CheckReported
    | WorkloadFinished
    | WorkloadMismatched
)


def apply_workload(state: State, event: WorkloadEvent) -> None:  # noqa: C901 - an arm an event
    """Fold a fact about a workload; about an unknown one it changes nothing."""
    if isinstance(event, WorkloadSubmitted):
        _fold_submitted(state, event)
        return
    workload = state.workloads.get(event.workload)
    if workload is None or (event.uid and workload.uid != event.uid):
        return
    match event:
        case WorkloadFinished():
            _fold_finished(state, workload, event)
        case WorkloadRemoved():
            _fold_removed(state, workload)
        case WorkloadStopped():
            workload.stopped = workload.phase == "evicting"
        case WorkloadChanged():
            _fold_changed(state, workload, event)
        case WorkloadAdopted():
            _fold_adopted(state, workload, event)
        case PodsReclaimed():
            _fold_reclaimed(state, workload, event)
        case PodsReadyReported():
            _fold_ready(workload, event)
        case WorkloadMismatched():
            workload.mismatch = event.message
        case CheckReported():
            _fold_check(state, workload, event)
        case _:
            assert_never(event)
    state.forest.to_reconcile[event.workload] = None


def _fold_submitted(state: State, event: WorkloadSubmitted) -> None:
    older = state.workloads.get(event.workload)
    if older is not None:
        _fold_removed(state, older)
    workload = _new_workload(state, event)
    intern_workload(workload)
    state.workloads[event.workload] = workload
    if event.uid:
        state.by_uid[event.uid] = event.workload
    if workload.elastic:
        link_slices(state, workload)
    queue = workload.local_queue
    state.by_queue.setdefault(queue, {})[event.workload] = None
    workload.cluster_queue = state.objects.queue_of(queue)
    quota_ops.update_priority(state, workload, needs_class=not event.held_quota)
    if workload.shape is None:
        heads.enqueue(state, workload)
    cq = state.forest.cluster_queues.get(workload.cluster_queue)
    idle = workload.shape is None or cq is None or not cq.active
    idle = idle or bool(
        multikueue_check(state, workload.cluster_queue)
    )  # it may fit no cluster at all
    if idle or not workload.active or not workload.state.suspended:
        state.forest.to_reconcile[event.workload] = None
    set_repair_deadline(state, workload)


def _new_workload(state: State, event: WorkloadSubmitted) -> Workload:
    """Return a workload as submitted, without any decision."""
    return Workload(
        key=event.workload,
        uid=event.uid,
        job=event.job,
        version=event.version,
        resource=event.resource,
        queue=event.queue,
        priority_class=event.priority_class,
        pod_priority_class=event.pod_priority_class,
        own_priority=event.priority,
        priority_boost=event.priority_boost,
        created_us=event.created_us,
        podsets=event.podsets,
        active=event.active,
        max_execution_s=event.max_execution_s,
        reclaimable=event.reclaimable if _is_reclaim_enabled(state) else {},
        gates=event.gates,
        preemption_gates=event.preemption_gates,
        allowed_flavors=event.allowed_flavors,
        replaces=event.replaces,
        variant_of=event.variant_of,
        parent=event.variant_of if event.job.kind != "workload" else "",
        prebuilt=event.prebuilt,
        elastic=event.elastic,
        author=event.author,
        body=event.body,
        state=event.state,
        state_us=event.at_us,
        held_quota=event.held_quota,
        held_places=event.held_places,
    )


def _is_reclaim_enabled(state: State) -> bool:
    return gate_enabled(state.policy, "ReclaimablePods")


def _dequeue(state: State, workload: Workload) -> None:
    heads.dequeue(state, workload)
    deadlines.clear_workload(state, workload.key)
    heads.clear_sticky(state, workload)
    admission_fair_sharing.drop_penalty(state, workload)


def _fold_removed(state: State, workload: Workload) -> None:
    _dequeue(state, workload)
    quota_ops.release_quota(state, workload, outside=True)
    _wake_tree(state, workload)
    del state.workloads[workload.key]
    for uid in (workload.uid, workload.job.uid):
        if state.by_uid.get(uid) == workload.key:
            del state.by_uid[uid]
    older = state.workloads.get(workload.replaces)
    if older is not None and older.successor == workload.key:
        older.successor = ""
    remove_variant(state, workload)
    if workload.job.kind in GROUPED_KINDS:
        unindex_group(state, workload)
    _unindex_local_queue(state, workload)


def _unindex_local_queue(state: State, workload: Workload) -> None:
    queue = workload.local_queue
    queue_workloads = state.by_queue.get(queue)
    if queue_workloads is not None:
        queue_workloads.pop(workload.key, None)
        if not queue_workloads:
            del state.by_queue[queue]


def _wake_tree(state: State, workload: Workload) -> None:
    """Wake a tree though no quota became free, as Kueue does; kueue mode only."""
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is not None and state.requeue.by_event:
        heads.queue_inadmissible_workloads(state, cq.tree)


def _fold_finished(state: State, workload: Workload, event: WorkloadFinished) -> None:
    _dequeue(state, workload)
    quota_ops.release_quota(state, workload, outside=True)
    if workload.phase != "finished":
        _wake_tree(state, workload)
    workload.phase, workload.finished_us = "finished", event.at_us
    workload.version = max(workload.version, event.version)
    workload.out_of_sync = bool(workload.prebuilt) and event.reason == "OutOfSync"
    workload.pending_status = None
    set_repair_deadline(state, workload)


def _fold_changed(state: State, workload: Workload, event: WorkloadChanged) -> None:
    was_active, queue_before = workload.active, workload.local_queue
    moved = workload.queue != event.queue
    before = (workload.podsets, workload.allowed_flavors, workload.preemption_gates)
    if moved:
        heads.dequeue(state, workload)
        _unindex_local_queue(state, workload)
        heads.clear_sticky(state, workload)
    workload.version = max(workload.version, event.version)
    workload.queue, workload.podsets = event.queue, event.podsets
    workload.priority_class = event.priority_class
    workload.pod_priority_class = event.pod_priority_class
    workload.own_priority, workload.priority_boost = event.priority, event.priority_boost
    workload.active, workload.max_execution_s = event.active, event.max_execution_s
    workload.author, workload.allowed_flavors = event.author, event.allowed_flavors
    workload.gates, workload.preemption_gates = event.gates, event.preemption_gates
    set_replaced_slice(state, workload, event.replaces, elastic=event.elastic)
    workload.held_quota, workload.held_places = event.held_quota, event.held_places
    if before != (workload.podsets, workload.allowed_flavors, workload.preemption_gates):
        workload.requests, workload.scan = None, None
    workload.inadmissible = False
    if workload.key in state.intents:
        intent = state.intents[workload.key]
        state.intents[workload.key] = replace(intent, void="the workload changed")
    if workload.elastic and workload.phase in HOLDING:
        quota_ops.recharge_quota(state, workload)
    if moved:
        state.by_queue.setdefault(workload.local_queue, {})[workload.key] = None
        admission_fair_sharing.move_penalty(state, workload, queue_before)
    _requeue_changed(state, workload, activated=event.active and not was_active)
    quota_ops.update_priority(state, workload)


def _requeue_changed(state: State, workload: Workload, *, activated: bool) -> None:
    """Queue a changed workload again if it is pending; one with quota stays charged."""
    if activated and workload.phase == "inactive":
        workload.phase = reactivated_phase(workload)
        workload.requeue_reason, workload.inadmissible, workload.scan = "", False, None
        workload.requeue_after_us = workload.requeue_count = 0
    if workload.phase != "pending":
        return
    if not workload.active:
        heads.clear_sticky(state, workload)
        _wake_tree(state, workload)
    heads.dequeue(state, workload)
    workload.cluster_queue = state.objects.queue_of(workload.local_queue)
    heads.enqueue(state, workload)


def _fold_adopted(state: State, workload: Workload, event: WorkloadAdopted) -> None:
    heads.dequeue(state, workload)
    workload.held_quota, workload.held_places = False, {}
    workload.phase = "admitted"
    workload.reserved_us = workload.admitted_us = event.admitted_us or event.at_us
    workload.executed_us = max(workload.executed_us, event.executed_us)
    state.moves.to_adopt.pop(workload.uid, None)
    quota_ops.charge_quota(state, workload, event.cluster_queue, event.assignment)
    quota_ops.update_checkpoint(state, workload)
    set_repair_deadline(state, workload)


def _fold_reclaimed(state: State, workload: Workload, event: PodsReclaimed) -> None:
    if not _is_reclaim_enabled(state):
        return
    changed = workload.reclaimable != event.reclaimable
    workload.reclaimable = event.reclaimable
    if workload.phase in HOLDING:
        quota_ops.recharge_quota(state, workload)
        if changed:
            _wake_tree(state, workload)  # even if the pods that are done requested nothing
    else:
        workload.inadmissible, workload.scan = False, None
        heads.enqueue(state, workload)


def _fold_ready(workload: Workload, event: PodsReadyReported) -> None:
    workload.recovering = workload.phase == "admitted" and not event.ready
    workload.ready, workload.ready_us = event.ready, event.at_us


def _fold_check(state: State, workload: Workload, event: CheckReported) -> None:
    state_of_check = CheckState(
        state=event.state,
        message=event.message,
        requeue_after_s=event.requeue_after_s,
        at_us=event.at_us,
        updates=event.updates,
    )
    cq = state.forest.cluster_queues.get(workload.cluster_queue)
    workload.checks = {**workload.checks, event.check: state_of_check}
    if cq is not None and workload.shape is not None:
        mark_dirty(state, cq.tree)
