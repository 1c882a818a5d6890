"""Repeats an order if the job has differed from the desired state for too long.

So the cluster converges although EVENTS may lose messages and users may start jobs by hand. An
order that the actuator could not carry out is handled here, too, by ``ActuationFailed.reason``:

- ``stale``: the job changed since the order; ordered again once its new state is known.
- ``invalid``, of a start: the template contradicts its flavor and always will. Evicted and
  deactivated with the cause FailedToStart, as Kueue ends such a workload.
- ``gone``: its deletion will be observed soon; ordered again only after the longest interval.
- ``conflict``, ``forbidden``, ``unreachable``, and a stop that is ``invalid``: ordered again after
  the usual interval, which doubles: an administrator has to repair the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.copies import BODY_MISSING, BODY_TRIES, NAME_TAKEN
from tidegate.contracts.decisions import DecisionEvent, OrderReissued
from tidegate.contracts.decisions import WorkloadEvicted as Evicted
from tidegate.core.admission.orders import evicted, start_order, stop_orders
from tidegate.core.members.placing import is_name_in_use, startable
from tidegate.core.members.standing import is_silent
from tidegate.core.state import deadlines
from tidegate.core.state.desired_state import FAMILY, agrees, failed, wanted
from tidegate.core.state.state import State, Workload, about

NOT_ADMITTED = "NotAdmitted"
DEACTIVATED = "Deactivated"
FAILED_TO_START = "FailedToStart"


def reissue_orders(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield repeated orders, workload by workload, the longest overdue first.

    Fold each list as a whole before taking the next: that clears its deadline.
    """
    for key in deadlines.due(state, FAMILY):
        workload = state.workloads.get(key)
        if workload is None or is_silent(state, workload):
            continue
        if not agrees(state, workload):
            yield _order_again(state, workload)


def _order_again(state: State, workload: Workload) -> list[DecisionEvent]:
    kind, order = wanted(workload), workload.order
    assert kind is not None, "a job without a desired state never differs from it"
    if kind == "start" and failed(workload) == "invalid":
        return _give_up(state, workload)
    if workload.body and (events := _leave_cluster(state, workload)):
        return events
    again: list[DecisionEvent] = []
    creates = order is not None and order.creates and startable(state, workload) is not None
    if order is not None and order.kind == kind and not creates:
        again.append(_repeated(state, workload, kind=kind, since_us=order.at_us))
    if kind == "start":
        return [*again, start_order(state, workload)]
    evicting = workload.phase == "evicting"
    reason = workload.evicted_reason if evicting else NOT_ADMITTED
    return [*again, *stop_orders(state, workload, reason=reason)]


def _leave_cluster(state: State, workload: Workload) -> list[DecisionEvent]:
    """Evict a placed job from a cluster in which its copy cannot be created; empty if it can."""
    reason, where = failed(workload), workload.cluster
    if reason == NAME_TAKEN and not is_name_in_use(state, workload):
        text = f"Another object in cluster {where} has the name of the job."
        return evicted(state, workload, NAME_TAKEN, message=text)
    if reason == BODY_MISSING and workload.repeated >= BODY_TRIES:
        text = "The body of the job is not on the bus: it is stored again when the job is listed."
        events = evicted(state, workload, BODY_MISSING, message=text)
        after_us = state.now_us + state.policy.repair_after_us * BODY_TRIES
        return [replace(each, after_us=after_us) for each in events if isinstance(each, Evicted)]
    return []


def _give_up(state: State, workload: Workload) -> list[DecisionEvent]:
    message = "The job cannot be started with the node labels and counts it was given."
    return evicted(state, workload, DEACTIVATED, cause=FAILED_TO_START, message=message)


def _repeated(
    state: State, workload: Workload, *, kind: Literal["start", "stop"], since_us: int
) -> OrderReissued:
    return OrderReissued(
        **about(state, workload), order=kind, since_us=since_us, attempt=workload.repeated + 1
    )
