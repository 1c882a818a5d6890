"""Reconciles one workload: admission once its checks are ready, eviction, release, requeuing.

Causes are a deactivation, a stopped queue, a failed check, a proven stop. The rule runs for each
workload in ``to_reconcile`` until it yields nothing for it.

Source: behaviour.md 8, 9.1, 9.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.copies import BODY_TRIES
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadRequeued,
)
from tidegate.core.admission.orders import (
    eviction_decisions,
    eviction_event,
    failed_start_decisions,
    requeue_event,
    start_decisions,
    stop_orders,
)
from tidegate.core.members.cluster_status import has_drained_flavor
from tidegate.core.members.placement import OF_COPY
from tidegate.core.multikueue.dispatch import dispatch
from tidegate.core.multikueue.withdrawal import is_withdrawn
from tidegate.core.queueing.admissibility import (
    CHECK_FAILED,
    INACTIVE,
    LOCAL_QUEUE_STOPPED,
    NO_CLUSTER_QUEUE,
    NO_LOCAL_QUEUE,
    TERMINATING,
    admission_blocker,
)
from tidegate.core.queueing.admission_checks import check_state, required_checks
from tidegate.core.queueing.siblings import may_be_parent
from tidegate.core.reconcile.inadmissible import reconcile_pending
from tidegate.core.reconcile.reconcile_variants import reconcile_variants_of
from tidegate.core.state.desired_state import is_marked, is_unused_reservation, stays_gated
from tidegate.core.state.state import State, Workload, decision_fields

DEACTIVATED = "Deactivated"
INADMISSIBLE = "Inadmissible"
"""Reason of the release of a reservation that may not become an admission any more."""
NO_MATCH = "NoMatchingWorkload"
"""Kueue's reason to stop a job that does not match its admitted Workload."""
CLUSTER_DRAINED = "ClusterDrained"
"""Eviction reason of a workload on a flavor that is drained in its cluster."""
HOME_GONE = "JobGone"
"""Eviction reason of a placed job that was deleted at home: its copy is removed."""
BACKOFF_FINISHED = "BackoffFinished"
_OF_CHECK = "AdmissionCheck"
"""Eviction reason of a workload whose admission check failed."""
_STOPS_QUEUE = "ClusterQueueStopped"
_STOPS_LOCAL = "LocalQueueStopped"
_QUEUE_DELETED = (NO_LOCAL_QUEUE, LOCAL_QUEUE_STOPPED, NO_CLUSTER_QUEUE, TERMINATING)
_BACKS_OFF = ("PodsReadyTimeout", _OF_CHECK)


def reconcile_workloads(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield decisions for each workload in ``to_reconcile``, until that is empty."""
    keys = state.forest.to_reconcile
    while keys:
        for key in sorted(keys):  # in a rebuilt state they are more, and in another order
            del keys[key]
            yield from _reconcile_until_settled(state, key)


def _reconcile_until_settled(state: State, key: str) -> Iterator[list[DecisionEvent]]:
    while (workload := state.workloads.get(key)) is not None:
        results = _next_decisions(state, workload)
        if not results:
            return
        yield results


def _next_decisions(state: State, workload: Workload) -> list[DecisionEvent]:
    if may_be_parent(state, workload) and (results := reconcile_variants_of(state, workload)):
        return results
    is_sent = workload.dispatch is not None or state.policy.multikueue is not None
    if is_sent and (results := dispatch(state, workload)):
        return results
    match workload.phase:
        case "evicting":
            gone = workload.stopped and is_withdrawn(state, workload)
            return _release_stopped(state, workload) if gone else []
        case "pending" if not workload.active:
            return [_deactivate(state, workload)]
        case "pending":
            failed = _reconcile_pending_checks(state, workload) if workload.checks else []
            return failed or reconcile_pending(state, workload)
        case "reserved" | "admitted":
            return _evict_or_release(state, workload) or _reconcile_checks(state, workload)
        case _:
            return []


def _evict_or_release(state: State, workload: Workload) -> list[DecisionEvent]:
    if not workload.active:
        return eviction_decisions(state, workload, DEACTIVATED)
    if workload.home_gone:
        return eviction_decisions(
            state, workload, HOME_GONE, message="The job at home was deleted."
        )
    if workload.mismatch:
        return _evict_mismatched(state, workload)
    if has_drained_flavor(state, workload):
        return eviction_decisions(state, workload, CLUSTER_DRAINED)
    for reason, policy in _stop_policies(state, workload):
        if policy == "HoldAndDrain":
            return eviction_decisions(state, workload, reason)
        if policy == "Hold" and is_unused_reservation(workload):
            released = QuotaReleased(**decision_fields(state, workload), reason="Held")
            return [released, _requeue(state, workload, reason)]
    return _release_inadmissible(state, workload) if is_unused_reservation(workload) else []


def _evict_mismatched(state: State, workload: Workload) -> list[DecisionEvent]:
    """Evict a workload whose job differs from what is charged; if its copy does, with a back-off.

    Without a back-off, a webhook that changes copies would cause evictions without end.
    """
    if not workload.mismatch.startswith(OF_COPY):
        return eviction_decisions(state, workload, NO_MATCH, message=workload.mismatch)
    event = eviction_event(state, workload, NO_MATCH, message=workload.mismatch)
    return [replace(event, after_us=state.now_us + state.policy.repair_after_us * BODY_TRIES)]


def _release_inadmissible(state: State, workload: Workload) -> list[DecisionEvent]:
    """Release a reservation whose workload may not be admitted any more.

    Kueue admits it, unless one of its queues is deleted.

    An inactive ClusterQueue is no reason, since that ends when its check's controller is back; nor
    is a failed check, which evicts the workload.
    """
    blocked_by = admission_blocker(state, workload)
    if blocked_by is None or blocked_by.code in (INACTIVE, CHECK_FAILED):
        return []
    if not state.requeue.rechecks and blocked_by.code not in _QUEUE_DELETED:
        return []
    released = QuotaReleased(**decision_fields(state, workload), reason=INADMISSIBLE)
    return [released, _requeue(state, workload, "")]


def _release_stopped(state: State, workload: Workload) -> list[DecisionEvent]:
    """Release the quota of an evicted workload that has stopped; requeue or deactivate it."""
    reason = workload.evicted_reason
    released = QuotaReleased(**decision_fields(state, workload), reason="Evicted")
    if reason == DEACTIVATED and workload.active and not workload.deactivated_cause:
        return [released, _requeue(state, workload, "")]  # a user activated it again meanwhile
    if reason == DEACTIVATED:
        return [released, _deactivate(state, workload)]
    return [released, _requeue(state, workload, reason)]


def _requeue(state: State, workload: Workload, reason: str) -> WorkloadRequeued:
    """Return that a workload is requeued: at once, after a back-off, or when its queue resumes."""
    stopped = dict(_stop_policies(state, workload))
    still = reason not in (_STOPS_QUEUE, _STOPS_LOCAL) or stopped.get(reason, "None") != "None"
    if reason in _BACKS_OFF and workload.requeue_after_us <= state.now_us:
        reason = BACKOFF_FINISHED  # the back-off was over before the job had stopped
    return requeue_event(state, workload, reason if still else "")


def _deactivate(state: State, workload: Workload) -> WorkloadDeactivated:
    return WorkloadDeactivated(
        **decision_fields(state, workload), reason=workload.deactivated_cause or DEACTIVATED
    )


def _stop_policies(state: State, workload: Workload) -> list[tuple[str, str]]:
    """Return the stop policies of a workload's queues, each with its eviction reason.

    The LocalQueue's first: Kueue looks at it first.
    """
    queue = state.objects.cluster_queues.get(workload.cluster_queue)
    local = state.objects.local_queues.get(workload.local_queue)
    results: list[tuple[str, str]] = []
    if local is not None:
        results.append((_STOPS_LOCAL, local.spec.stop_policy))
    if queue is not None:
        results.append((_STOPS_QUEUE, queue.spec.stop_policy))
    return results


def _reconcile_checks(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the decisions that a workload's checks cause: it is admitted, evicted, or waits."""
    names = required_checks(state, workload.cluster_queue, workload.assignment)
    workload_evicted = _check_eviction(state, workload, names)
    if workload_evicted is not None:
        why = {"reason": workload_evicted.reason, "message": workload_evicted.message}
        return [workload_evicted, *stop_orders(state, workload, **why)]
    if workload.phase != "reserved" or any(
        check_state(workload, name) != "Ready" for name in names
    ):
        return []
    if any(assignment.delayed_topology == "Pending" for assignment in workload.assignment):
        return []  # its pods are placed first: see ``tidegate.core.admission.second_pass``
    barred = state.requeue.rechecks and admission_blocker(state, workload) is not None
    return [] if barred else _admit(state, workload)


def _reconcile_pending_checks(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the decisions that a failed check causes for a workload that waits for quota."""
    workload_evicted = _check_eviction(state, workload, sorted(workload.checks))
    if workload_evicted is None or not state.requeue.rechecks:
        return []
    fields = decision_fields(state, workload)
    if workload_evicted.cause:
        return [
            workload_evicted,
            WorkloadDeactivated(
                **fields, reason=workload_evicted.cause, message=workload_evicted.message
            ),
        ]
    later = workload_evicted.after_us > state.now_us
    again = WorkloadRequeued(
        **fields,
        reason=_OF_CHECK if later else BACKOFF_FINISHED,
        after_us=workload_evicted.after_us if later else 0,
        attempts=workload.requeue_count,
    )
    return [workload_evicted, again]


def _admit(state: State, workload: Workload) -> list[DecisionEvent]:
    if failed := failed_start_decisions(state, workload):
        return failed
    unordered = stays_gated(workload) and not is_marked(workload)
    decisions = start_decisions(state, workload)
    return decisions[:1] if unordered else decisions


def _check_eviction(state: State, workload: Workload, names: list[str]) -> WorkloadEvicted | None:
    """Return the eviction that a check requires: Rejected comes before Retry."""
    if rejected := [name for name in names if check_state(workload, name) == "Rejected"]:
        message = f"Admission check {_check_texts(workload, rejected)} rejected."
        return eviction_event(state, workload, "Deactivated", cause=_OF_CHECK, message=message)
    if retried := [name for name in names if check_state(workload, name) == "Retry"]:
        message = f"Admission check {_check_texts(workload, retried)} to be tried again."
        again = [workload.checks[name] for name in retried]
        delays = any(check.requeue_after_s for check in again)
        after_us = max(check.retry_us for check in again) if delays else 0
        workload_evicted = eviction_event(state, workload, _OF_CHECK, message=message)
        return replace(workload_evicted, after_us=after_us)
    return None


def _check_texts(workload: Workload, names: list[str]) -> str:
    generator = ((name, workload.checks[name].message) for name in names)
    return ", ".join(f"{name} ({message})" if message else name for name, message in generator)
