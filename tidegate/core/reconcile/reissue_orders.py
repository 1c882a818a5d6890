"""Repeats what the cluster does not show in time: orders to jobs, and reservations in Workloads.

So the cluster converges although EVENTS may lose messages and users may start jobs by hand. An
order that the actuator could not carry out is handled here, too, by ``ActuationFailed.reason``:

- ``stale``: the job changed since the order; ordered again once its new state is known.
- ``invalid``, of a start: the template contradicts its flavor and always will. Evicted and
  deactivated with the cause FailedToStart, as Kueue ends such a workload.
- ``gone``: its deletion will be observed soon; ordered again only after the longest interval.
- ``conflict``, ``forbidden``, ``unreachable``, and a stop that is ``invalid``: ordered again after
  the usual interval, which doubles: an administrator has to repair the cluster.

After a ledger lost its newest entries, it adopts jobs that run by lost orders, even above quota. A
job that the lost entries had stopped still holds quota in the ledger, and a new start beside the
adopted jobs would exceed the quota. So its workload is evicted and waits; running jobs go on.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.copies import BODY_MISSING, BODY_TRIES, NAME_TAKEN
from tidegate.contracts.decisions import (
    DecisionEvent,
    OrderReissued,
    ReservationRepeated,
    WorkloadEvicted,
)
from tidegate.core.admission.orders import (
    FAILED_TO_START,
    eviction_decisions,
    start_order,
    stop_orders,
)
from tidegate.core.members.cluster_status import is_cluster_silent
from tidegate.core.members.placement import is_name_in_use, startable_copy
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import add_usage, cell_available, cell_of, remove_usage
from tidegate.core.reconcile.reconcile_workload import DEACTIVATED
from tidegate.core.state.desired_state import desired_order, failure_reason, is_as_desired
from tidegate.core.state.state import State, Workload, decision_fields

NOT_ADMITTED = "NotAdmitted"
LEDGER_RECOVERED = "LedgerRecovered"


def reissue_order(state: State, workload: Workload) -> list[DecisionEvent]:
    """Repeat a workload's order if its job has differed from the desired state for too long.

    Folding the decisions as a whole clears the deadline.
    """
    if is_cluster_silent(state, workload) or is_as_desired(state, workload):
        return []
    kind, order = desired_order(workload), workload.order
    assert kind is not None, "a job without a desired state never differs from it"
    if kind == "start" and failure_reason(workload) == "invalid":
        message = "The job cannot be started with the node labels and counts it was given."
        return eviction_decisions(
            state, workload, DEACTIVATED, cause=FAILED_TO_START, message=message
        )
    if workload.body and (events := _evict_from_cluster(state, workload)):
        return events
    again: list[DecisionEvent] = []
    creates = order is not None and order.creates and startable_copy(state, workload) is not None
    if order is not None and order.kind == kind and not creates:
        again.append(
            OrderReissued(
                **decision_fields(state, workload),
                order=kind,
                since_us=order.at_us,
                attempt=workload.repeated + 1,
            )
        )
    if kind == "start":
        return [*again, start_order(state, workload)]
    evicting = workload.phase == "evicting"
    reason = workload.evicted_reason if evicting else NOT_ADMITTED
    return [*again, *stop_orders(state, workload, reason=reason)]


def _evict_from_cluster(state: State, workload: Workload) -> list[DecisionEvent]:
    """Evict a placed job from a cluster in which its copy cannot be created; empty if it can."""
    reason, where = failure_reason(workload), workload.cluster
    if reason == NAME_TAKEN and not is_name_in_use(state, workload):
        text = f"Another object in cluster {where} has the name of the job."
        return eviction_decisions(state, workload, NAME_TAKEN, message=text)
    if reason == BODY_MISSING and workload.repeated >= BODY_TRIES:
        text = "The body of the job is not on the bus: it is stored again when the job is listed."
        events = eviction_decisions(state, workload, BODY_MISSING, message=text)
        after_us = state.now_us + state.policy.repair_after_us * BODY_TRIES
        return [
            replace(each, after_us=after_us) for each in events if isinstance(each, WorkloadEvicted)
        ]
    return []


def reissue_reservation(state: State, workload: Workload) -> list[DecisionEvent]:
    """Publish a reservation again, in full, that was not observed on its Workload in time.

    The actuator writes statuses from events, and does not notice lost ones. After a recovery under
    a new ledger id all reservations are published again: Workloads may show decisions of the lost
    tail.
    """
    names = required_checks(state, workload.cluster_queue, workload.assignment)
    again = ReservationRepeated(
        **decision_fields(state, workload),
        job=workload.job,
        queue=workload.queue,
        priority_class=workload.priority_class,
        pod_priority_class=workload.pod_priority_class,
        priority=workload.own_priority,
        max_execution_s=workload.max_execution_s,
        assignment=workload.assignment,
        checks=tuple(names),
        admitted=workload.phase == "admitted",
        attempt=workload.reissues + 1,
    )
    return [again]


def evict_recovered(state: State, keys: list[str]) -> Iterator[list[DecisionEvent]]:
    """Yield evictions of recovered workloads whose quota adopted jobs use, the least loss first.

    Considers workloads whose start is due, once all objects have been observed again.
    """
    due = (state.workloads.get(key) for key in keys)
    stopped = [each for each in due if each is not None and _is_recovered_and_stopped(state, each)]
    for workload in sorted(stopped, key=_eviction_order):
        if _is_quota_exceeded(state, workload):
            text = (
                "The ledger was recovered, and other running workloads use this workload's quota."
            )
            yield eviction_decisions(state, workload, LEDGER_RECOVERED, message=text)


def _is_recovered_and_stopped(state: State, workload: Workload) -> bool:
    """Tell whether a workload was admitted when the ledger was recovered, and does not run.

    False for a workload in a silent cluster: it may run.
    """
    if not workload.recovered or is_cluster_silent(state, workload):
        return False
    waits = workload.state.suspended and not workload.state.active
    return waits and desired_order(workload) == "start" and not is_as_desired(state, workload)


def _eviction_order(workload: Workload) -> tuple[int, int, str]:
    return workload.priority, -workload.reserved_us, workload.key


def _is_quota_exceeded(state: State, workload: Workload) -> bool:
    """Tell whether usage exceeds quota in a workload's flavor-resources without leaving ones."""
    queues = forest(state).cluster_queues
    cq = queues.get(workload.cluster_queue)
    if cq is None:
        return False
    leaving = [(queues[each.cluster_queue].node, each.charges) for each in cq.tree.leaving.values()]
    for node, charges in leaving:
        remove_usage(node, charges)
    exceeded = any(
        amount > 0 and cell_available(cell_of(cq.node, fr)) < 0 for fr, amount in workload.charges
    )
    for node, charges in leaving:
        add_usage(node, charges)
    return exceeded
