"""Why a pending workload is not offered to a cycle: its queues, or its gates.

A workload that a cycle evaluates gets its reason there. This rule covers all others, so that every
pending workload has a reason.

Source: behaviour.md 8.4 (the order of the reasons).
"""

from __future__ import annotations

from tidegate.contracts.decisions import (
    DecisionEvent,
    PendingReason,
    WorkloadPending,
)
from tidegate.core.admission.orders import requeue_event
from tidegate.core.folding.admissions import STOPPED
from tidegate.core.nomination.explain import pending_message
from tidegate.core.queueing import admissibility
from tidegate.core.queueing.admissibility import queueing_blocker
from tidegate.core.state.state import State, Workload, decision_fields

OFFERED, GATE_CLEARED = "Offered", "AdmissionGateCleared"
_CODES = frozenset(
    (
        admissibility.NO_LOCAL_QUEUE,
        admissibility.LOCAL_QUEUE_STOPPED,
        admissibility.CLUSTER_CLOSED,
        admissibility.NO_CLUSTER_QUEUE,
        admissibility.NO_PRIORITY_CLASS,
        admissibility.TERMINATING,
        admissibility.INACTIVE,
        admissibility.BUDGET,
        admissibility.GATED,
        admissibility.HELD,
        admissibility.SLICE_LEAVES,
        admissibility.VARIANT_LEAVES,
    )
)
"""The barriers that this rule records, until a cycle records another reason."""
_OF_CYCLES = (admissibility.SLICE_LEAVES, admissibility.VARIANT_LEAVES)
_RESTARTED = {
    "ClusterQueueStopped": "ClusterQueueRestarted",
    "LocalQueueStopped": "LocalQueueRestarted",
}


def reconcile_pending(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return that a workload is queued again, or why it is not offered, if not recorded yet."""
    if workload.requeue_reason in STOPPED and not _is_queue_stopped(state, workload):
        return [requeue_event(state, workload, _RESTARTED[workload.requeue_reason])]
    barrier = queueing_blocker(state, workload)
    code = OFFERED if barrier is None else barrier.code
    if code in _OF_CYCLES and not state.requeue.rechecks:
        return []  # a cycle says this; under Kueue's rules it makes a workload its queue's first
    reasons = workload.pending_status.others if workload.pending_status is not None else ()
    if code in reasons or (barrier is None and _CODES.isdisjoint(reasons)):
        return []
    cleared = admissibility.GATED in reasons and code != admissibility.GATED
    reason: PendingReason = "PendingEvaluation" if barrier is None else barrier.reason
    pending = WorkloadPending(
        **decision_fields(state, workload),
        reason=reason,
        others=(code, GATE_CLEARED) if cleared else (code,),
        message=pending_message(reason, None, "" if barrier is None else barrier.details),
    )
    return [pending]


def _is_queue_stopped(state: State, workload: Workload) -> bool:
    if workload.requeue_reason == "LocalQueueStopped":
        local = state.objects.local_queues.get(workload.local_queue)
        return local is None or local.spec.stop_policy != "None"
    queue = state.objects.cluster_queues.get(workload.cluster_queue)
    return queue is None or queue.spec.stop_policy != "None"
