"""What the doctor says of worker clusters: one finding each, and of who says which are asked."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.cli.commands.clusters.workers import Worker, workers
from tidegate.cli.doctor.findings import Finding, good, wrong
from tidegate.core.multikueue.check import check_of
from tidegate.core.multikueue.nomination import is_external
from tidegate.core.state.state import State, Workload

NOMINATION_US = 60_000_000
"""How long an external dispatcher may take before the doctor speaks of it."""
_HELD = {"None": "", "Hold": ", held", "HoldAndDrain": ", drained"}


def examine_workers(state: State) -> Iterator[Finding]:
    """Yield a finding for each worker cluster; none without MultiKueue."""
    for worker in workers(state):
        yield _finding(worker)
    if is_external(state):
        yield _external(state)


def _external(state: State) -> Finding:
    """Return whether an external dispatcher does its part: any other name than Kueue's is one."""
    since_us = state.now_us - NOMINATION_US
    waiting = [
        key
        for key, workload in sorted(state.workloads.items())
        if workload.phase == "reserved"
        and workload.reserved_us <= since_us
        and _is_asked_nowhere(workload)
        and check_of(state, workload.cluster_queue)
    ]
    if not waiting:
        return good("ExternalDispatcher", "an external dispatcher names the worker clusters")
    text = (
        f"{len(waiting)} workloads with quota wait for an external dispatcher, first {waiting[0]}"
    )
    to_do = (
        "start it, or correct multiKueue.dispatcherName: each name but Kueue's own two means an "
        "external dispatcher"
    )
    return wrong("NotNominated", text, to_do)


def _is_asked_nowhere(workload: Workload) -> bool:
    dispatch = workload.dispatch
    return dispatch is None or not (dispatch.nominated or dispatch.chosen or dispatch.copies)


def _finding(worker: Worker) -> Finding:
    stopped, runs = _HELD[worker.stop_policy], f"{len(worker.running)} workloads run there"
    match worker.standing:
        case "Connected":
            return good("WorkerAnswers", f"{worker.name}: {runs}{stopped}")
        case "Lost":
            why = f" ({worker.reason}: {worker.message})" if worker.message else ""
            text = f"{worker.name} does not answer{why}; {runs}{stopped}"
            to_do = f"`tidegate clusters why {worker.name}`, and its condition Active"
            return wrong("WorkerLost", text, to_do)
        case "Unknown":
            text = f"{worker.name}: no dispatcher has reported on it"
            return wrong("WorkerUnknown", text, "start the dispatcher: docs/multikueue.md")
