"""Why a pending workload is not even looked at: its queues, or a gate on it.

Whoever is looked at in a cycle is told why it waits by that; this rule is for all others, so that
every pending workload says what it waits for.

Source: behaviour.md 8.4 (the order of the reasons).
"""

from __future__ import annotations

from tidegate.contracts.decisions import DecisionEvent, HeldReason, WorkloadHeld, WorkloadRequeued
from tidegate.core.draft import Draft, Workload
from tidegate.core.explain import sentence
from tidegate.core.families import sibling_leaves
from tidegate.core.folding.admissions import STOPPED
from tidegate.core.succession import replaced_leaves

NO_LOCAL_QUEUE = "LocalQueueNotFound"
LOCAL_QUEUE_STOPPED = "LocalQueueStopped"
NO_CLUSTER_QUEUE = "ClusterQueueNotFound"
INACTIVE = "ClusterQueueInactive"
GATED = "AdmissionGatedBy"
SLICE_LEAVES = "ReplacedSliceLeaves"
VARIANT_LEAVES = "VariantLeaves"
OFFERED = "Offered"
_REASONS: dict[str, HeldReason] = {
    NO_LOCAL_QUEUE: "Misconfigured",
    LOCAL_QUEUE_STOPPED: "Suspended",
    NO_CLUSTER_QUEUE: "Misconfigured",
    INACTIVE: "Suspended",
    GATED: "AdmissionGated",
    SLICE_LEAVES: "PendingEvaluation",
    VARIANT_LEAVES: "WaitingForPreemptedWorkloads",
    OFFERED: "PendingEvaluation",
}
_RESTARTED = {
    "ClusterQueueStopped": "ClusterQueueRestarted",
    "LocalQueueStopped": "LocalQueueRestarted",
}


def attend_pending(draft: Draft, workload: Workload) -> list[DecisionEvent]:
    """Return that a workload is queued again, or why it is not looked at, if that is news."""
    if workload.requeue_reason in STOPPED and not _stopped(draft, workload):
        return [_restarted(draft, workload)]
    if draft.policy.compatibility == "kueue":
        return []  # there another controller says it, not the one whose decisions are compared
    why, details = _why(draft, workload)
    said = workload.held.others if workload.held is not None else ()
    if why in said or (why == OFFERED and not any(one in _REASONS for one in said)):
        return []
    held = WorkloadHeld(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        reason=_REASONS[why],
        others=(why,),
        message=sentence(_REASONS[why], None, details),
    )
    return [held]


def _why(draft: Draft, workload: Workload) -> tuple[str, str]:
    local = draft.objects.local_queues.get(workload.local_queue)
    room = draft.forest.rooms.get(workload.cluster_queue)
    if local is None:
        return NO_LOCAL_QUEUE, f"there is no LocalQueue {workload.queue or '(none is named)'}"
    if local.spec.stop_policy != "None" or local.deleting:
        return LOCAL_QUEUE_STOPPED, f"LocalQueue {workload.queue} is stopped"
    if room is None:
        return NO_CLUSTER_QUEUE, f"there is no ClusterQueue {local.spec.cluster_queue}"
    if not room.active:
        return INACTIVE, f"ClusterQueue {room.name} is inactive"
    if workload.gates:
        return GATED, f"it is gated by {', '.join(workload.gates)}"
    if workload.replaces and replaced_leaves(draft, workload):
        return SLICE_LEAVES, f"{workload.replaces}, which it would replace, has to leave"
    if workload.parent and workload.key not in draft.intents and sibling_leaves(draft, workload):
        return VARIANT_LEAVES, "another variant of it has to stop first"
    return OFFERED, ""


def _stopped(draft: Draft, workload: Workload) -> bool:
    if workload.requeue_reason == "LocalQueueStopped":
        local = draft.objects.local_queues.get(workload.local_queue)
        return local is None or local.spec.stop_policy != "None"
    queue = draft.objects.cluster_queues.get(workload.cluster_queue)
    return queue is None or queue.spec.stop_policy != "None"


def _restarted(draft: Draft, workload: Workload) -> WorkloadRequeued:
    return WorkloadRequeued(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        reason=_RESTARTED[workload.requeue_reason],
        after_us=workload.requeue_after_us if workload.requeue_after_us > draft.now_us else 0,
        attempts=workload.requeue_count,
    )
