"""Requeues workloads whose back-off has expired."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent, WorkloadRequeued
from tidegate.core.state import deadlines
from tidegate.core.state.state import State, about

BACKOFF_FINISHED = "BackoffFinished"


def requeue_due(state: State) -> Iterator[list[DecisionEvent]]:
    """Requeue each workload whose backoff is over."""
    for key in deadlines.due(state, "requeue"):
        workload = state.workloads.get(key)
        if workload is None:
            continue
        again = WorkloadRequeued(
            **about(state, workload), reason=BACKOFF_FINISHED, attempts=workload.requeue_count
        )
        yield [again]
