"""The pending workloads of each ClusterQueue by a folded state: the rows of the SQL reports of now.

The reports show them as of now alone, and scan every workload that there ever was. A state has the
existing ones, as of now or of any moment: both give the same rows, which a test compares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from tidegate.cli.times import utc
from tidegate.contracts.phases import HOLDING
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import UNSATISFIED_CHECKS
from tidegate.replay.queue_order import positions, workloads_at
from tidegate.replay.simulator.trees import cluster_queue_of

Row: TypeAlias = dict[str, Any]
Since: TypeAlias = Callable[[Workload], int]
"""When the wait of a workload began, in UTC microseconds."""

_SECOND_US = 1_000_000.0
_WAITING = ("pending", "reserved")


def pending_rows(state: State, since: Since, queues: Collection[str] | None = None) -> list[Row]:
    """Return pending workloads with their positions, and the columns of ``queue_now`` beside them.

    ``queues`` limits them to these ClusterQueues; None: all.
    """
    place = positions(state, queues)
    waiting = (
        (cluster_queue_of(state, workload), workload)
        for workload in workloads_at(state, queues)
        if workload.phase in _WAITING
    )
    return [
        {
            "cluster_queue": queue,
            "phase": workload.phase,
            "position": place.get(workload.key),
            "workload": workload.key,
            "namespace": workload.key.partition("/")[0],
            "local_queue": workload.queue,
            "priority": workload.priority,
            "waited_s": (state.now_us - since(workload)) / _SECOND_US,
            "reason": _pending_reason(workload),
        }
        for queue, workload in waiting
        if queues is None or queue in queues
    ]


def queue_rows(state: State, queues: Collection[str] | None = None) -> list[Row]:
    """Return ClusterQueues, or all, with the columns of the report ``queues`` that lists need."""
    definitions = state.objects.cluster_queues
    names = definitions if queues is None else definitions.keys() & queues
    return [_queue_row(state, name) for name in sorted(names)]


def reserving_counts(
    state: State, queues: Collection[str] | None = None
) -> Counter[tuple[str, str]]:
    """Return how many workloads of each ClusterQueue and phase have quota; None: of all queues."""
    return Counter(
        (workload.cluster_queue, workload.phase)
        for workload in workloads_at(state, queues)
        if workload.phase in HOLDING and workload.assignment
    )


def queues_of(state: State, namespace: str) -> set[str]:
    """Return the ClusterQueues that a namespace's LocalQueues lead to."""
    return {
        local.spec.cluster_queue
        for local in state.objects.local_queues.values()
        if local.namespace == namespace
    }


def is_local_queue_served(state: State, local_queue: str) -> bool:
    """Return whether a LocalQueue leads to a ClusterQueue of a state's partition."""
    defined = state.objects.local_queues.get(local_queue)
    return defined is not None and defined.spec.cluster_queue in state.objects.cluster_queues


def queues_waited_for(state: State, namespace: str) -> set[str]:
    """Return the ClusterQueues in which a namespace's workloads wait."""
    return {
        cluster_queue_of(state, workload)
        for workload in workloads_of(state, namespace)
        if workload.phase in _WAITING
    }


def workloads_of(state: State, namespace: str) -> list[Workload]:
    """Return a namespace's workloads, with a look at each LocalQueue; empty: of all namespaces."""
    if not namespace:
        return list(state.workloads.values())
    return [
        state.workloads[key]
        for local_queue, keys in state.by_queue.items()
        if local_queue.startswith(f"{namespace}/")
        for key in keys
    ]


def _pending_reason(workload: Workload) -> str:
    if workload.phase == "reserved":
        return UNSATISFIED_CHECKS if workload.checks else ""
    pending = "" if workload.pending_status is None else workload.pending_status.reason
    return pending or workload.requeue_reason or workload.evicted_reason


def _queue_row(state: State, name: str) -> Row:
    spec = state.objects.cluster_queues[name].spec
    stop = state.objects.stops.get(name)
    return {
        "cluster_queue": name,
        "cohort": spec.cohort,
        "strategy": spec.strategy,
        "stop_policy": spec.stop_policy,
        "stopped_at": None if stop is None else utc(stop.at_us),
        "stopped_by": "" if stop is None else stop.by,
    }
