"""What the actuator is told: where a job's pods go when it starts, and that it shall stop.

An order says all that is to be done, so that the newest one alone suffices.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts.decisions import (
    DecisionEvent,
    PodSetStart,
    StartOrdered,
    StopOrdered,
    WorkloadEvicted,
)
from tidegate.core.draft import Draft, Workload
from tidegate.core.injecting import injected


def start_order(draft: Draft, workload: Workload) -> StartOrdered:
    """Return the order to start a workload's job as it was assigned."""
    return StartOrdered(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        job=workload.job,
        podsets=injected(draft, workload),
        generation=workload.state.generation,
    )


def stop_order(draft: Draft, workload: Workload, *, reason: str, message: str = "") -> StopOrdered:
    """Return the order to stop a workload's job, whether it was started or not."""
    return StopOrdered(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        job=workload.job,
        reason=reason,
        message=message,
        podsets=_put_in(draft, workload),
    )


def _put_in(draft: Draft, workload: Workload) -> tuple[PodSetStart, ...]:
    """Return what the start of a job put into it, with the pods that its podsets ask for."""
    if workload.order is None or workload.order.kind != "start":
        return ()
    asked = {podset.name: podset.count for podset in workload.podsets}
    return tuple(
        replace(one, count=asked.get(one.name, one.count)) for one in injected(draft, workload)
    )


def eviction(
    draft: Draft, workload: Workload, reason: str, *, cause: str = "", message: str = ""
) -> WorkloadEvicted:
    """Return the decision that a workload shall not have its quota any longer."""
    return WorkloadEvicted(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        reason=reason,
        cause=cause,
        message=message,
    )


def evicted(
    draft: Draft, workload: Workload, reason: str, *, cause: str = "", message: str = ""
) -> list[DecisionEvent]:
    """Return the decisions that make a workload that holds quota leave."""
    event = eviction(draft, workload, reason, cause=cause, message=message)
    return [event, stop_order(draft, workload, reason=reason, message=message)]
