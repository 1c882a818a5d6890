"""Statistics of workloads by queue for the gauges, in one walk over the state.

A walk costs a few microseconds a workload and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from scheduler.metrics.exposed import ALL, exposed_queues
from tidegate.contracts.facts import LocalQueueDefined
from tidegate.contracts.phases import HOLDING
from tidegate.core.queueing.admissibility import DEACTIVATED
from tidegate.core.queueing.siblings import acting_variant
from tidegate.core.quota.charging import pod_count, requests_per_pod
from tidegate.core.quota.tree import Node
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import UNSATISFIED_CHECKS, FlavorResource
from tidegate.service.config.local_queue_metrics import LocalQueueMetrics

Queue = tuple[str, ...]
"""A ClusterQueue as (name,), a LocalQueue as (name, namespace)."""
NO_RESERVATION, PENDING_EVALUATION = "NoReservation", "PendingEvaluation"
"""Kueue's reason of Admitted and of QuotaReserved where it says no other."""


class _SumKey(NamedTuple):
    """Workloads that count alike: thousands of them are one row."""

    cluster_queue: str
    namespace: str
    queue: str
    status: str  # active, inadmissible, reserved, admitted, finished, or none of these
    unadmitted: tuple[str, str]  # reason and underlying cause; empty: not counted so
    charges: tuple[tuple[FlavorResource, int], ...]


class Sums(msgspec.Struct, kw_only=True):
    """The sums for each ClusterQueue, or for each LocalQueue."""

    pending: Counter[tuple[Queue, str]] = msgspec.field(default_factory=Counter)  # and status
    finished: Counter[Queue] = msgspec.field(default_factory=Counter)
    reserving: Counter[Queue] = msgspec.field(default_factory=Counter)
    admitted: Counter[Queue] = msgspec.field(default_factory=Counter)
    unadmitted: Counter[tuple[Queue, str, str, str]] = msgspec.field(default_factory=Counter)
    reserved: Counter[tuple[Queue, FlavorResource]] = msgspec.field(default_factory=Counter)
    used: Counter[tuple[Queue, FlavorResource]] = msgspec.field(default_factory=Counter)
    asked: Counter[tuple[Queue, str]] = msgspec.field(default_factory=Counter)  # and resource


class QueueStats(msgspec.Struct, kw_only=True):
    """The sums, and the number of jobs whose orders were issued again without effect yet."""

    cluster_queues: Sums = msgspec.field(default_factory=Sums)
    local_queues: Sums = msgspec.field(default_factory=Sums)
    exposed: Mapping[str, LocalQueueDefined] = {}  # LocalQueues with series
    drifting: int = 0  # orders that had to be given again and are not yet seen to be done


def queue_stats(
    state: State, local_queues: LocalQueueMetrics = ALL, *, requests: bool
) -> QueueStats:
    """Return the statistics of a state's workloads; sums of requests only if ``requests``."""
    stats = _empty_stats(state, exposed_queues(local_queues, state.objects))
    alike = Counter[_SumKey]()
    for workload in state.workloads.values():
        alike[_sum_key(state, workload)] += 1
        if (
            requests
            and workload.phase == "pending"
            and workload.cluster_queue in state.forest.cluster_queues
        ):
            _add_requests(stats.cluster_queues, (workload.cluster_queue,), workload, state)
        if workload.repeated and workload.phase != "finished":
            stats.drifting += 1
    for kind, number in alike.items():
        status = kind.status
        if status == "active" and cluster_queue_status(state, kind.cluster_queue) != "active":
            status = "inadmissible"
        row = kind._replace(status=status)
        if row.cluster_queue in state.forest.cluster_queues:
            _add_count(stats.cluster_queues, (row.cluster_queue,), row, number, "")
        queue = stats.exposed.get(f"{row.namespace}/{row.queue}")
        if queue is not None:
            above = queue.spec.cluster_queue
            _add_count(stats.local_queues, (row.queue, row.namespace), row, number, above)
    return stats


def cluster_queue_status(state: State, name: str) -> str:
    """Return a ClusterQueue's status as Kueue calls it."""
    defined = state.objects.cluster_queues.get(name)
    if defined is not None and defined.deleting:
        return "terminating"
    return "active" if state.readiness.get(name, (False,))[0] else "pending"


def _empty_stats(state: State, local_queues: Mapping[str, LocalQueueDefined]) -> QueueStats:
    stats = QueueStats(exposed=local_queues)
    for name in state.forest.cluster_queues:
        _add_idle_queue(stats.cluster_queues, (name,))
    for local in local_queues.values():
        _add_idle_queue(stats.local_queues, (local.name, local.namespace))
    return stats


def _add_idle_queue(sums: Sums, queue: Queue) -> None:
    """Report an idle queue as 0."""
    for status in ("active", "inadmissible"):
        sums.pending[queue, status] = 0
    for counts in (sums.finished, sums.reserving, sums.admitted):
        counts[queue] = 0


def scheduling_hash_counts(cq: ClusterQueueState) -> dict[str, int]:
    """Return how many kinds of workloads wait in a ClusterQueue, by status."""
    parked = sum(1 for shape in cq.shapes.values() if shape.inadmissible)
    return {"active": len(cq.shapes) - parked, "inadmissible": parked}


def queues_below(node: Node) -> Iterator[Node]:
    """Yield the ClusterQueues of a subtree."""
    if not node.is_cohort:
        yield node
    for child in node.children:
        yield from queues_below(child)


def _sum_key(state: State, workload: Workload) -> _SumKey:
    """Return a workload's labels in the sums."""
    namespace, phase, status = workload.key.partition("/")[0], workload.phase, ""
    charges: tuple[tuple[FlavorResource, int], ...] = ()
    if phase == "pending":
        in_the_running = workload.shape is not None and not workload.shape.inadmissible
        status = "active" if in_the_running else "inadmissible"
    elif phase in HOLDING:
        status = "admitted" if _is_admitted(workload) else "reserved"
        charges = workload.charges
    elif phase == "finished":
        status = phase
    unadmitted = ("", "") if workload.variant_of else _unadmitted(state, workload)
    return _SumKey(workload.cluster_queue, namespace, workload.queue, status, unadmitted, charges)


def _is_admitted(workload: Workload) -> bool:
    is_holding = workload.phase in HOLDING
    return workload.phase == "admitted" or (is_holding and workload.admitted_us > 0)


def _unadmitted(state: State, workload: Workload) -> tuple[str, str]:
    """Return why a workload is not admitted, as reason and cause; empty texts: it is, or ended.

    Source: Kueue's getUnadmittedWorkloadStatus: a job's variants do not count beside their parent.
    """
    match workload.phase:
        case "pending":
            pending = workload.pending_status
            return NO_RESERVATION, PENDING_EVALUATION if pending is None else pending.reason
        case "parent" if not _is_admitted(acting_variant(state, workload)):
            return NO_RESERVATION, PENDING_EVALUATION
        case "inactive":
            return NO_RESERVATION, DEACTIVATED
        case "reserved" | "evicting" if not _is_admitted(workload):
            return UNSATISFIED_CHECKS, ""
        case _:
            return "", ""


def _add_count(sums: Sums, queue: Queue, kind: _SumKey, number: int, above: str) -> None:
    if kind.unadmitted[0]:
        sums.unadmitted[queue, *kind.unadmitted, above] += number
    match kind.status:
        case "active" | "inadmissible":
            sums.pending[queue, kind.status] += number
        case "finished":
            sums.finished[queue] += number
        case "admitted" | "reserved":
            _count_admitted(sums, queue, kind, number)
        case _:
            pass  # inactive, or a parent: its variants wait and hold quota


def _count_admitted(sums: Sums, queue: Queue, kind: _SumKey, number: int) -> None:
    is_admitted = kind.status == "admitted"
    sums.reserving[queue] += number
    if is_admitted:
        sums.admitted[queue] += number
    for fr, units in kind.charges:
        sums.reserved[queue, fr] += units * number
        if is_admitted:
            sums.used[queue, fr] += units * number


def _add_requests(sums: Sums, queue: Queue, workload: Workload, state: State) -> None:
    for podset, each in zip(workload.podsets, requests_per_pod(state, workload), strict=True):
        pods = pod_count(workload, podset)
        for resource, units in each.items():
            sums.asked[queue, resource] += units * pods
