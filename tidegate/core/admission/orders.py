"""Orders for the actuator: to start a job, with what its pod templates get, or to stop it.

Each order is complete, so that the newest one alone suffices.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.copies import CopyOrdered
from tidegate.contracts.decisions import (
    DecisionEvent,
    PodSetStart,
    StartOrdered,
    StopOrdered,
    WorkloadAdmitted,
    WorkloadEvicted,
)
from tidegate.core.admission.injection import injected
from tidegate.core.members.placing import startable
from tidegate.core.state.desired_state import stays_gated
from tidegate.core.state.state import State, Workload, about

ADMISSION_GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods that wait for their admission."""


def start_order(state: State, workload: Workload) -> StartOrdered | CopyOrdered:
    """Return the order to start a workload's job by its assignment.

    Pods that run in a worker cluster stay gated here: they get nothing but the order's marks. For a
    placed job it is the order to create its copy, or to start the copy once it exists.
    """
    copy = startable(state, workload) if workload.body else None
    if workload.body and copy is None:
        return _copy_order(state, workload)
    starts = injected(state, workload)
    if stays_gated(workload):
        starts = tuple(
            PodSetStart(name=start.name, count=start.count, gates=(ADMISSION_GATE,))
            for start in starts
        )
    return StartOrdered(
        **about(state, workload),
        job=workload.job if copy is None else copy.ref,
        podsets=starts,
        generation=workload.state.generation,
    )


def started(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the decisions that admit a workload with reserved quota and order its job to start."""
    admitted = WorkloadAdmitted(
        **about(state, workload),
        queue=workload.queue,
        waited_us=max(0, state.now_us - workload.created_us) if workload.created_us else 0,
    )
    return [admitted, start_order(state, workload)]


def _copy_order(state: State, workload: Workload) -> CopyOrdered:
    return CopyOrdered(
        **about(state, workload),
        job=workload.job,
        copy=replace(workload.job, uid="", cluster=workload.cluster),
        body=workload.body,
    )


def stop_orders(
    state: State, workload: Workload, *, reason: str, message: str = ""
) -> list[StopOrdered]:
    """Return the order to stop a workload's job, whether it was started or not.

    Empty for a placed job: it does not run at home, and its copy is deleted by another order.
    """
    if workload.body:
        return []
    order = StopOrdered(
        **about(state, workload),
        job=workload.job,
        reason=reason,
        message=message,
        podsets=_added_by_start(state, workload),
    )
    return [order]


def _added_by_start(state: State, workload: Workload) -> tuple[PodSetStart, ...]:
    """Return what the last start of a job added to it, with its podsets' present counts."""
    if workload.order is None or workload.order.kind != "start":
        return ()
    requests = {podset.name: podset.count for podset in workload.podsets}
    return tuple(
        replace(start, count=requests.get(start.name, start.count))
        for start in injected(state, workload)
    )


def eviction(
    state: State, workload: Workload, reason: str, *, cause: str = "", message: str = ""
) -> WorkloadEvicted:
    """Return the decision to evict a workload, which is to lose its quota."""
    return WorkloadEvicted(**about(state, workload), reason=reason, cause=cause, message=message)


def evicted(
    state: State, workload: Workload, reason: str, *, cause: str = "", message: str = ""
) -> list[DecisionEvent]:
    """Return the decisions that evict a workload with quota and order its job to stop."""
    event = eviction(state, workload, reason, cause=cause, message=message)
    return [event, *stop_orders(state, workload, reason=reason, message=message)]
