"""How facts about workloads change the draft: submitted, changed, stopped, finished, gone."""

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
from tidegate.core import deadlines, decay
from tidegate.core.draft import CheckState, Draft, Workload
from tidegate.core.families import leave_family, revived
from tidegate.core.forest import HOLDING, forest
from tidegate.core.heads import leave, note, place, wake
from tidegate.core.holding import give, recharge, take
from tidegate.core.ordering import gate
from tidegate.core.priorities import resolve
from tidegate.core.sharing import share_names
from tidegate.core.wanted import watch

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


def apply_workload(draft: Draft, event: WorkloadEvent) -> None:  # noqa: C901 - an arm an event
    """Fold a fact about a workload; about one that is not known it changes nothing."""
    if isinstance(event, WorkloadSubmitted):
        _submit(draft, event)
        return
    workload = draft.workloads.get(event.workload)
    if workload is None or (event.uid and workload.uid != event.uid):
        return
    match event:
        case WorkloadFinished():
            _finish(draft, workload, event)
        case WorkloadRemoved():
            _remove(draft, workload)
        case WorkloadStopped():
            workload.stopped = workload.phase == "evicting"
        case WorkloadChanged():
            _change(draft, workload, event)
        case WorkloadAdopted():
            _adopt(draft, workload, event)
        case PodsReclaimed():
            _reclaim(draft, workload, event)
        case PodsReadyReported():
            _fold_ready(workload, event)
        case WorkloadMismatched():
            workload.mismatch = event.message
        case CheckReported():
            _check(draft, workload, event)
        case _:
            assert_never(event)
    draft.forest.agenda[event.workload] = None


def _submit(draft: Draft, event: WorkloadSubmitted) -> None:
    older = draft.workloads.get(event.workload)
    if older is not None:
        _remove(draft, older)
    workload = _asked(draft, event)
    share_names(workload)
    draft.workloads[event.workload] = workload
    if event.uid:
        draft.by_uid[event.uid] = event.workload
    older = draft.workloads.get(event.replaces)
    if older is not None and event.elastic:
        older.successor = event.workload
    queue = workload.local_queue
    draft.by_queue.setdefault(queue, {})[event.workload] = None
    found = draft.objects.local_queues.get(queue)
    if found is not None:
        workload.cluster_queue = found.spec.cluster_queue
    resolve(draft, workload)
    if workload.shape is None:
        place(draft, workload)
    room = draft.forest.rooms.get(workload.cluster_queue)
    idle = workload.shape is None or room is None or not room.active
    if idle or not workload.active or not workload.state.suspended:
        draft.forest.agenda[event.workload] = None
    watch(draft, workload)


def _asked(draft: Draft, event: WorkloadSubmitted) -> Workload:
    """Return a workload as it was asked for, nothing decided."""
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
        reclaimable=event.reclaimable if _reclaims(draft) else {},
        gates=event.gates,
        preemption_gates=event.preemption_gates,
        allowed_flavors=event.allowed_flavors,
        replaces=event.replaces,
        variant_of=event.variant_of,
        parent=event.variant_of if event.job.kind != "workload" else "",
        prebuilt=event.prebuilt,
        elastic=event.elastic,
        author=event.author,
        state=event.state,
        state_us=event.at_us,
        held_quota=event.held_quota,
    )


def _reclaims(draft: Draft) -> bool:
    return gate(draft.policy, "ReclaimablePods", default=True)


def _forget(draft: Draft, workload: Workload) -> None:
    """Take a workload out of all that waits for it."""
    leave(draft, workload)
    for family in (
        "repair",
        "requeue",
        "ready",
        "execution",
        "retention",
        "guarantee",
        "asked",
    ):
        deadlines.clear(draft, f"{family}/{workload.key}")
    _unstick(draft, workload)
    decay.drop_penalty(draft, workload)


def _unstick(draft: Draft, workload: Workload) -> None:
    """Let a preemptor that left its ClusterQueue's heap no longer sort first in it."""
    if draft.sticky.get(workload.cluster_queue) == workload.key:
        del draft.sticky[workload.cluster_queue]


def _remove(draft: Draft, workload: Workload) -> None:
    was_pending = workload.phase == "pending"
    _forget(draft, workload)
    give(draft, workload, outside=True)
    if was_pending:
        _wake_all(draft, workload)
    del draft.workloads[workload.key]
    for uid in (workload.uid, workload.job.uid):
        if draft.by_uid.get(uid) == workload.key:
            del draft.by_uid[uid]
    older = draft.workloads.get(workload.replaces)
    if older is not None and older.successor == workload.key:
        older.successor = ""
    leave_family(draft, workload)
    _leave_queue(draft, workload)


def _leave_queue(draft: Draft, workload: Workload) -> None:
    queue = workload.local_queue
    standing = draft.by_queue.get(queue)
    if standing is not None:
        standing.pop(workload.key, None)
        if not standing:
            del draft.by_queue[queue]


def _wake_all(draft: Draft, workload: Workload) -> None:
    """Kueue tries what is parked again when somebody who merely waited is gone."""
    room = forest(draft).rooms.get(workload.cluster_queue)
    if room is not None and draft.policy.compatibility == "kueue":
        wake(draft, room.tree)


def _finish(draft: Draft, workload: Workload, event: WorkloadFinished) -> None:
    _forget(draft, workload)
    give(draft, workload, outside=True)
    workload.phase, workload.finished_us = "finished", event.at_us
    workload.out_of_sync = bool(workload.prebuilt) and event.reason == "OutOfSync"
    workload.held = None
    watch(draft, workload)


def _change(draft: Draft, workload: Workload, event: WorkloadChanged) -> None:
    was_active, moved = workload.active, workload.queue != event.queue
    before = (workload.podsets, workload.allowed_flavors, workload.preemption_gates)
    if moved:
        leave(draft, workload)
        _leave_queue(draft, workload)
        _unstick(draft, workload)
    workload.version = max(workload.version, event.version)
    workload.queue, workload.podsets = event.queue, event.podsets
    workload.priority_class = event.priority_class
    workload.pod_priority_class = event.pod_priority_class
    workload.own_priority, workload.priority_boost = event.priority, event.priority_boost
    workload.active, workload.max_execution_s = event.active, event.max_execution_s
    workload.author, workload.gates = event.author, event.gates
    workload.preemption_gates = event.preemption_gates
    workload.allowed_flavors, workload.replaces = event.allowed_flavors, event.replaces
    workload.held_quota = event.held_quota
    if before != (workload.podsets, workload.allowed_flavors, workload.preemption_gates):
        workload.requests, workload.parked, workload.scan = None, False, ()
    if workload.key in draft.intents:
        intent = draft.intents[workload.key]
        draft.intents[workload.key] = replace(intent, void="the workload changed")
    if workload.elastic and workload.phase in HOLDING:
        recharge(draft, workload)
    if moved:
        draft.by_queue.setdefault(workload.local_queue, {})[workload.key] = None
    _follow(draft, workload, activated=event.active and not was_active)
    resolve(draft, workload)


def _follow(draft: Draft, workload: Workload, *, activated: bool) -> None:
    """Place a changed workload where it belongs now; who holds quota stays where it is."""
    if activated and workload.phase == "inactive":
        workload.phase = revived(workload)
        workload.requeue_reason, workload.parked, workload.scan = "", False, ()
        workload.requeue_after_us = workload.requeue_count = 0
    if workload.phase != "pending":
        return
    if not workload.active:
        _unstick(draft, workload)
        _wake_all(draft, workload)
    found = draft.objects.local_queues.get(workload.local_queue)
    leave(draft, workload)
    workload.cluster_queue = "" if found is None else found.spec.cluster_queue
    place(draft, workload)


def _adopt(draft: Draft, workload: Workload, event: WorkloadAdopted) -> None:
    leave(draft, workload)
    workload.held_quota = False
    workload.phase = "admitted"
    workload.reserved_us = workload.admitted_us = event.at_us
    take(draft, workload, event.cluster_queue, event.assignment)
    watch(draft, workload)


def _reclaim(draft: Draft, workload: Workload, event: PodsReclaimed) -> None:
    if not _reclaims(draft):
        return
    workload.reclaimable = event.reclaimable
    if workload.phase in HOLDING:
        recharge(draft, workload)
    else:
        workload.parked, workload.scan = False, ()
        place(draft, workload)


def _fold_ready(workload: Workload, event: PodsReadyReported) -> None:
    workload.recovering = workload.phase == "admitted" and not event.ready
    workload.ready, workload.ready_us = event.ready, event.at_us


def _check(draft: Draft, workload: Workload, event: CheckReported) -> None:
    told = CheckState(
        state=event.state,
        message=event.message,
        requeue_after_s=event.requeue_after_s,
        at_us=event.at_us,
        updates=event.updates,
    )
    room = draft.forest.rooms.get(workload.cluster_queue)
    workload.checks = {**workload.checks, event.check: told}
    if room is not None and workload.shape is not None:
        note(draft, room)
