"""Kueue's gauges of quota and usage by flavor and resource: many series, off by default there.

``metrics.enableClusterQueueResources`` of the Configuration turns them on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf

from prometheus_client.core import GaugeMetricFamily

from scheduler.metrics.queue_stats import QueueStats, queues_below
from scheduler.metrics.series import ROLE
from tidegate.core.quota.tree import INFINITE, Cell, Node
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State
from tidegate.model.ids import FlavorResource

_BY_CLUSTER_QUEUE = ("cohort", "cluster_queue", "flavor", "resource", "replica_role")
_BY_LOCAL_QUEUE = ("name", "namespace", "flavor", "resource", "replica_role")
_BY_COHORT = ("cohort", "flavor", "resource", "replica_role")


def metric_value(resource: str, units: int | None) -> float:
    """Return base units as Kueue's metrics count: cores, bytes; no limit is infinite."""
    if units is None or units >= INFINITE:
        return inf
    return units / 1_000 if resource == "cpu" else float(units)


def resource_gauges(
    state: State, now: QueueStats, *, local_queues: bool
) -> Iterator[GaugeMetricFamily]:
    """Yield the gauges of quota, of its reservations and usage, and of pending requests."""
    yield from _quota_gauges(state)
    yield from _reservation_gauges(state, now)
    yield from _cohort_gauges(state, now)
    if local_queues:
        yield from _local_queue_gauges(state, now)


def _quota_gauges(state: State) -> Iterator[GaugeMetricFamily]:
    nominal = _family("cluster_queue_nominal_quota", "Quota of its own.")
    borrowing = _family("cluster_queue_borrowing_limit", "The most that it may borrow.")
    lending = _family("cluster_queue_lending_limit", "The most that it lends.")
    for cq in state.forest.cluster_queues.values():
        for cell in _cells(cq):
            labels = _labels(cq, cell.fr)
            resource = cell.fr.resource
            nominal.add_metric(labels, metric_value(resource, cell.nominal))
            borrowing.add_metric(labels, metric_value(resource, cell.borrowing))
            lending.add_metric(labels, metric_value(resource, cell.lending))
    yield from (nominal, borrowing, lending)


def _reservation_gauges(state: State, now: QueueStats) -> Iterator[GaugeMetricFamily]:
    reserved = _family("cluster_queue_resource_reservation", "Reserved by workloads with quota.")
    used = _family("cluster_queue_resource_usage", "Reserved by admitted workloads.")
    requested = GaugeMetricFamily(
        "kueue_cluster_queue_resource_pending",
        "Requested by pending workloads.",
        labels=("cluster_queue", "resource", "replica_role"),
    )
    sums = now.cluster_queues
    for name, cq in state.forest.cluster_queues.items():
        for cell in _cells(cq):
            fr, labels = cell.fr, _labels(cq, cell.fr)
            reserved.add_metric(labels, metric_value(fr.resource, sums.reserved[(name,), fr]))
            used.add_metric(labels, metric_value(fr.resource, sums.used[(name,), fr]))
    for (queue, resource), units in sums.asked.items():
        requested.add_metric([*queue, resource, ROLE], metric_value(resource, units))
    yield from (reserved, used, requested)


def _local_queue_gauges(state: State, now: QueueStats) -> Iterator[GaugeMetricFamily]:
    sums = now.local_queues
    families = {
        "local_queue_resource_reservation": ("Reserved by workloads with quota.", sums.reserved),
        "local_queue_resource_usage": ("Reserved by admitted workloads.", sums.used),
    }
    for name, (description, counts) in families.items():
        family = GaugeMetricFamily(f"kueue_{name}", description, labels=_BY_LOCAL_QUEUE)
        for queue in now.exposed.values():
            cq = state.forest.cluster_queues.get(queue.spec.cluster_queue)
            for cell in [] if cq is None else _cells(cq):
                units = counts[(queue.name, queue.namespace), cell.fr]
                labels = [queue.name, queue.namespace, *cell.fr, ROLE]
                family.add_metric(labels, metric_value(cell.fr.resource, units))
        yield family


def _cohort_gauges(state: State, now: QueueStats) -> Iterator[GaugeMetricFamily]:
    quota = GaugeMetricFamily(
        "kueue_cohort_subtree_quota", "Quota of a cohort's subtree.", labels=_BY_COHORT
    )
    usage = GaugeMetricFamily(
        "kueue_cohort_subtree_resource_reservations", "Held below it.", labels=_BY_COHORT
    )
    for name, node in state.forest.cohorts.items():
        below = _reserved_below(node, now)
        for fr, cell in node.cells.items():
            labels = [name, *fr, ROLE]
            quota.add_metric(labels, metric_value(fr.resource, cell.subtree_quota))
            usage.add_metric(labels, metric_value(fr.resource, below[fr]))
    yield from (quota, usage)


def _reserved_below(node: Node, now: QueueStats) -> Counter[FlavorResource]:
    total = Counter[FlavorResource]()
    for queue in queues_below(node):
        for fr in queue.cells:
            total[fr] += now.cluster_queues.reserved[(queue.name,), fr]
    return total


def _family(name: str, description: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"kueue_{name}", description, labels=_BY_CLUSTER_QUEUE)


def _cells(cq: ClusterQueueState) -> list[Cell]:
    return [cell for group in cq.groups for slot in group.slots for cell in slot.cells.values()]


def _labels(cq: ClusterQueueState, fr: FlavorResource) -> list[str]:
    parent = cq.node.parent
    return ["" if parent is None else parent.name, cq.name, fr.flavor, fr.resource, ROLE]
