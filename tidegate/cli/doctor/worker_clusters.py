"""What the doctor says of worker clusters: one finding each."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.cli.commands.clusters.workers import Worker, workers
from tidegate.cli.doctor.findings import Finding, good, wrong
from tidegate.core.state.state import State

_HELD = {"None": "", "Hold": ", held", "HoldAndDrain": ", drained"}


def examine_workers(state: State) -> Iterator[Finding]:
    """Yield a finding for each worker cluster; none without MultiKueue."""
    for worker in workers(state):
        yield _finding(worker)


def _finding(worker: Worker) -> Finding:
    held, runs = _HELD[worker.stop_policy], f"{len(worker.running)} workloads run there"
    match worker.standing:
        case "Connected":
            return good("WorkerAnswers", f"{worker.name}: {runs}{held}")
        case "Lost":
            why = f" ({worker.reason}: {worker.message})" if worker.message else ""
            text = f"{worker.name} does not answer{why}; {runs}{held}"
            to_do = f"`tidegate clusters why {worker.name}`, and its condition Active"
            return wrong("WorkerLost", text, to_do)
        case "Unknown":
            text = f"{worker.name}: no dispatcher has told of it"
            return wrong("WorkerUnknown", text, "start the dispatcher: docs/multikueue.md")
