"""The minimum run time: a workload admitted a moment ago is no preemption candidate.

A ClusterQueue's annotation ``tidegate.dev/min-runtime`` says how long its workloads run before they
may be preempted; it does not prevent evictions for other reasons. Whether a guarantee holds is
folded, as a deadline that has not passed, so that it ends at an event and not in between.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tidegate.contracts.decisions import FlavorTried
from tidegate.core.flavors.fitting import IN_USE
from tidegate.core.queueing.heads import wake
from tidegate.core.quota.forest import forest
from tidegate.core.quota.touching import touch
from tidegate.core.state import deadlines
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.quantity import render

FAMILY = "guarantee"
_SECOND_US = 1_000_000


def guarantee(state: State, workload: Workload) -> None:
    """Set or clear the deadline until which a workload may not be preempted; folds call it.

    A guarantee ends with the event that makes its deadline due, not with another fact that moves
    the clock: only a scheduler that begins to lead would notice such an end.
    """
    defined = state.objects.cluster_queues.get(workload.cluster_queue)
    least_us = 0 if defined is None else defined.spec.min_runtime_us
    if not least_us and not workload.guaranteed:
        return
    workload.guaranteed = True
    key = f"{FAMILY}/{workload.key}"
    until_us = workload.admitted_us + least_us
    if workload.phase == "admitted" and until_us > state.now_us:
        deadlines.set(state, key, until_us)
    elif workload.phase == "admitted" and _ends_by_event(state, key, until_us):
        return
    elif key in state.deadlines.at or key in state.deadlines.due:
        deadlines.clear(state, key)


def _ends_by_event(state: State, key: str, until_us: int) -> bool:
    return state.deadlines.at.get(key) == until_us


def end_due(state: State) -> None:
    """End the guarantees whose deadlines are due; the fold of TimePassed calls this."""
    for key in deadlines.due(state, FAMILY):
        deadlines.clear(state, f"{FAMILY}/{key}")
        workload = state.workloads.get(key)
        cq = None if workload is None else forest(state).cluster_queues.get(workload.cluster_queue)
        if cq is not None:
            touch(state, cq.tree)
            if state.requeue.by_event:
                wake(state, cq.tree)


def is_guaranteed(state: State, workload: Workload) -> bool:
    """Tell whether a workload may not be preempted yet."""
    return f"{FAMILY}/{workload.key}" in state.deadlines.at


def trace(
    state: State, cq: ClusterQueueState, workload: Workload, attempts: tuple[FlavorTried, ...]
) -> tuple[tuple[FlavorTried, ...], str]:
    """Return attempts with the amounts that other workloads' guarantees hold, and a sentence."""
    rows, messages = list[FlavorTried](), dict[str, None]()
    for tried in attempts:
        guaranteed = [] if tried.reason != IN_USE else list(_guaranteed(state, cq, workload, tried))
        units = sum(amount for amount, _ in guaranteed)
        rows.append(replace(tried, guaranteed=units) if units else tried)
        if units:
            left_s = -(-(min(until_us for _, until_us in guaranteed) - state.now_us) // _SECOND_US)
            amount = render(tried.resource, units)
            messages[
                f"Of {tried.resource} in flavor {tried.flavor}, {amount} runs "
                f"within its guaranteed time, the first for {left_s} s more."
            ] = None
    return tuple(rows), " ".join(messages)


def _guaranteed(
    state: State, cq: ClusterQueueState, workload: Workload, tried: FlavorTried
) -> Iterable[tuple[int, int]]:
    """Yield guaranteed amounts, in the own queue of lower priority, and the end of each."""
    for other in cq.tree.cluster_queues:
        for candidate in other.holding.values() if other.spec.min_runtime_us else ():
            until_us = state.deadlines.at.get(f"{FAMILY}/{candidate.key}")
            if until_us is None or (other is cq and candidate.priority >= workload.priority):
                continue
            for fr, units in candidate.charges:
                if (fr.flavor, fr.resource) == (tried.flavor, tried.resource):
                    yield units, until_us
