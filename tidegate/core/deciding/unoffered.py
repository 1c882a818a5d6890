"""Why a pending workload is not even looked at: its queues, or a gate on it.

Whoever is looked at in a cycle is told why it waits by that; this rule is for all others, so that
every pending workload says what it waits for.

Source: behaviour.md 8.4 (the order of the reasons).
"""

from __future__ import annotations

from tidegate.contracts.decisions import (
    DecisionEvent,
    PendingReason,
    WorkloadPending,
    WorkloadRequeued,
)
from tidegate.core import admissibility
from tidegate.core.admissibility import unoffered
from tidegate.core.draft import Draft, Workload
from tidegate.core.explain import sentence
from tidegate.core.folding.admissions import STOPPED

OFFERED = "Offered"
_SAID = frozenset(
    (
        admissibility.NO_LOCAL_QUEUE,
        admissibility.LOCAL_QUEUE_STOPPED,
        admissibility.NO_CLUSTER_QUEUE,
        admissibility.TERMINATING,
        admissibility.INACTIVE,
        admissibility.GATED,
        admissibility.SLICE_LEAVES,
        admissibility.VARIANT_LEAVES,
    )
)
"""What this rule says of a workload until a cycle says something else."""
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
    found = unoffered(draft, workload)
    code = OFFERED if found is None else found.code
    said = workload.held.others if workload.held is not None else ()
    if code in said or (found is None and _SAID.isdisjoint(said)):
        return []
    reason: PendingReason = "PendingEvaluation" if found is None else found.reason
    held = WorkloadPending(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        reason=reason,
        others=(code,),
        message=sentence(reason, None, "" if found is None else found.details),
    )
    return [held]


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
