"""A decision in a few words, as the data files write it."""

from __future__ import annotations

from tests.core.telling import BEGIN, SECOND
from tidegate.contracts import decisions as made
from tidegate.contracts.codec import type_name
from tidegate.contracts.decision_kinds.queues import BudgetReached, BudgetRenewed


def decision_line(event: made.DecisionEvent) -> str:
    """Return an event's type, its workload or queue, and what distinguishes it."""
    if isinstance(event, made.ClusterQueueReadinessChanged):
        return f"ClusterQueueReadinessChanged {event.cluster_queue} {event.reason}"
    if isinstance(event, made.ClusterQueueReleased):
        return f"ClusterQueueReleased {event.cluster_queue}"
    if isinstance(event, made.LocalQueueUsageSampled):
        return f"LocalQueueUsageSampled {event.cluster_queue}"
    if isinstance(event, BudgetReached | BudgetRenewed):
        return f"{type_name(event)} {event.cluster_queue or event.cohort} {event.resource}"
    words = [type_name(event), event.workload.partition("/")[2], *_details(event)]
    return " ".join(word for word in words if word)


def _details(event: made.DecisionEvent) -> list[str]:  # noqa: C901 - an arm an event
    match event:
        case made.QuotaReserved():
            flavors = {flavor for podset in event.assignment for flavor in podset.flavors.values()}
            counts = [f"x{podset.count}" for podset in event.assignment]
            checks = f"checks={','.join(event.checks)}" if event.checks else ""
            return [",".join(sorted(flavors)), *counts, checks]
        case made.WorkloadPending():
            return [event.reason]
        case made.WorkloadPreempted():
            return [event.reason, f"by={event.by.partition('/')[2]}"]
        case made.WorkloadEvicted():
            attempt = f"attempt={event.attempts}" if event.attempts else ""
            return [event.reason, event.cause, attempt, _time(event.after_us)]
        case made.WorkloadRequeued():
            return [event.reason, _time(event.after_us)]
        case made.QuotaReleased() | made.WorkloadDeactivated() | made.PreemptionAbandoned():
            return [event.reason]
        case made.WorkloadExpired():
            return [event.reason, "job" if event.job is not None else "workload"]
        case made.ReservationRepeated():
            return [f"attempt={event.attempt}"]
        case made.OrderReissued():
            return [event.order]
        case _:
            return []


def _time(at_us: int) -> str:
    return f"until={(at_us - BEGIN) // SECOND}s" if at_us else ""
