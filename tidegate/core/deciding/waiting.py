"""Whose time has come: a workload that backed off waits in its queue again."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent, WorkloadRequeued
from tidegate.core import deadlines
from tidegate.core.draft import Draft

BACKOFF_FINISHED = "BackoffFinished"


def requeue_due(draft: Draft) -> Iterator[list[DecisionEvent]]:
    """Requeue each workload whose backoff is over."""
    for key in deadlines.due(draft, "requeue"):
        workload = draft.workloads.get(key)
        if workload is None:
            continue
        again = WorkloadRequeued(
            at_us=draft.now_us,
            workload=workload.key,
            uid=workload.uid,
            cluster_queue=workload.cluster_queue,
            reason=BACKOFF_FINISHED,
            attempts=workload.requeue_count,
        )
        yield [again]
