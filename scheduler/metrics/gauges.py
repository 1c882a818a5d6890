"""Kueue's gauges, made at each scrape from the state that the ledger gives: right at any start.

Only the leading scheduler has a state, so a standby has none of them. Resources count as in
Kueue: cpu in cores, all else in base units.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import nan
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from scheduler.metrics.exposed import ALL
from scheduler.metrics.queue_stats import (
    Queue,
    QueueStats,
    Sums,
    cluster_queue_status,
    queue_stats,
    queues_below,
    scheduling_hash_counts,
)
from scheduler.metrics.resource_gauges import resource_gauges
from scheduler.metrics.series import ROLE
from tidegate.core.queueing import admission_fair_sharing
from tidegate.core.quota.forest import forest
from tidegate.core.quota.shares import dominant_share
from tidegate.core.quota.tree import root_of
from tidegate.core.state.state import State
from tidegate.model.gates import gate_enabled
from tidegate.service.config.local_queue_metrics import LocalQueueMetrics

CLUSTER_QUEUE, LOCAL_QUEUE = ("cluster_queue",), ("name", "namespace")
STATUSES = ("pending", "active", "terminating")


class Family:
    """A gauge whose every series ends with the role."""

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self.gauge = GaugeMetricFamily(name, description, labels=(*labels, "replica_role"))

    def add(self, labels: Iterable[str], value: float) -> None:
        """Add one series."""
        self.gauge.add_metric([*labels, ROLE], value)


class Gauges(Collector):
    """Asks for the state at each scrape; see ``prometheus_client.registry.Collector``."""

    def __init__(
        self,
        state: Callable[[], State | None],
        local_queues: LocalQueueMetrics = ALL,
        *,
        resources: bool = True,
    ) -> None:
        self._state, self._local_queues, self._resources = state, local_queues, resources

    def describe(self) -> Iterable[Any]:
        """Name nothing beforehand: there is no state yet when this is registered."""
        return ()

    def collect(self) -> list[GaugeMetricFamily]:
        """Return every gauge of the present state; none without a state."""
        state = self._state()
        if state is None:
            return []
        hidden = () if gate_enabled(state.policy, "MetricsForCohorts") else _OF_COHORTS
        return [family for family in self._families(state) if family.name not in hidden]

    def _families(self, state: State) -> Iterator[GaugeMetricFamily]:
        forest(state)  # what is derived is up to date from here on
        now = queue_stats(state, self._local_queues, requests=self._resources)
        yield from _workload_families("", CLUSTER_QUEUE, now.cluster_queues)
        if self._local_queues.enabled:
            yield from _workload_families("local_queue_", LOCAL_QUEUE, now.local_queues)
            yield from _local_queue_families(state, now)
        yield from _cluster_queue_families(state, shared=self._resources)
        yield from _cohort_families(state, now)
        yield _drift(now)
        if self._resources:
            yield from resource_gauges(state, now, local_queues=self._local_queues.enabled)


_OF_COHORTS = ("kueue_cohort_info", "kueue_cluster_queue_info")
"""What Kueue's gate MetricsForCohorts opens."""


class BuildInfo(Collector):
    """Kueue's ``build_info``, with the labels that a Python program can fill."""

    def __init__(self, version: str) -> None:
        self._version = version

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the one series."""
        labels = {
            "git_version": f"v{self._version}",
            "git_commit": "",
            "build_date": "",
            "go_version": "",
            "compiler": f"{sys.implementation.name} {platform.python_version()}",
            "platform": f"{sys.platform}/{platform.machine()}",
        }
        family = GaugeMetricFamily("kueue_build_info", "What runs.", labels=tuple(labels))
        family.add_metric(list(labels.values()), 1)
        yield family


def _workload_families(prefix: str, by: tuple[str, ...], sums: Sums) -> Iterator[GaugeMetricFamily]:
    pending = Family(f"kueue_{prefix}pending_workloads", "Workloads that wait.", *by, "status")
    for (queue, status), count in sums.pending.items():
        pending.add((*queue, status), count)
    yield pending.gauge
    plain: Mapping[str, tuple[str, Mapping[Queue, int]]] = {
        "finished_workloads": ("Finished workloads that still exist.", sums.finished),
        "reserving_active_workloads": ("Workloads that hold quota.", sums.reserving),
        "admitted_active_workloads": ("Workloads that may run.", sums.admitted),
    }
    for name, (description, counts) in plain.items():
        family = Family(f"kueue_{prefix}{name}", description, *by)
        for queue, count in counts.items():
            family.add(queue, count)
        yield family.gauge
    why = ("cluster_queue",) if prefix else ()
    labels = (*by, "reason", "underlying_cause", *why)
    unadmitted = Family(f"kueue_{prefix}unadmitted_workloads", "Why not admitted.", *labels)
    for (queue, reason, cause, above), count in sums.unadmitted.items():
        unadmitted.add((*queue, reason, cause, *((above,) if prefix else ())), count)
    yield unadmitted.gauge


def _cluster_queue_families(state: State, *, shared: bool) -> Iterator[GaugeMetricFamily]:
    """Yield them; ``shared``: with the shares, if the configuration has ``fairSharing``."""
    status = Family("kueue_cluster_queue_status", "One-hot.", *CLUSTER_QUEUE, "status")
    hashes = Family("kueue_pending_scheduling_hashes", "Kinds that wait.", *CLUSTER_QUEUE, "status")
    shares = Family(
        "kueue_cluster_queue_weighted_share", "In thousandths.", "cluster_queue", "cohort"
    )
    info = Family(
        "kueue_cluster_queue_info", "Where it is.", "cluster_queue", "parent_cohort", "root_cohort"
    )
    for name, cq in state.forest.cluster_queues.items():
        now = cluster_queue_status(state, name)
        for status_value in STATUSES:
            status.add((name, status_value), status_value == now)
        for status_value, count in scheduling_hash_counts(cq).items():
            hashes.add((name, status_value), count)
        parent = cq.node.parent
        above = "" if parent is None else parent.name
        if shared and state.policy.fair_sharing:
            fair_share = dominant_share(cq.node)
            shares.add((name, above), nan if fair_share.boundless else float(fair_share.precise()))
        info.add((name, above, "" if parent is None else root_of(cq.node).name), 1)
    yield from (status.gauge, hashes.gauge, shares.gauge, info.gauge)


def _local_queue_families(state: State, now: QueueStats) -> Iterator[GaugeMetricFamily]:
    status = Family("kueue_local_queue_status", "One-hot.", *LOCAL_QUEUE, "active")
    used = Family(
        "kueue_local_queue_admission_fair_sharing_usage", "Weighted.", *LOCAL_QUEUE, *CLUSTER_QUEUE
    )
    for key, queue in now.exposed.items():
        above = queue.spec.cluster_queue
        running = cluster_queue_status(state, above) == "active"
        is_active = running and queue.spec.stop_policy == "None" and not queue.deleting
        for status_value in ("True", "False", "Unknown"):
            status.add((queue.name, queue.namespace, status_value), status_value == str(is_active))
        cq = state.forest.cluster_queues.get(above)
        if cq is not None and admission_fair_sharing.orders_by_usage(state, cq.spec):
            value = float(admission_fair_sharing.weighted_usage(state, key))
            used.add((queue.name, queue.namespace, above), value)
    yield from (status.gauge, used.gauge)


def _cohort_families(state: State, now: QueueStats) -> Iterator[GaugeMetricFamily]:
    info = Family("kueue_cohort_info", "Where it is.", "cohort", "parent_cohort", "root_cohort")
    shares = Family("kueue_cohort_weighted_share", "In thousandths.", "cohort")
    admitted = Family(
        "kueue_cohort_subtree_admitted_active_workloads", "Workloads that may run.", "cohort"
    )
    for name, node in state.forest.cohorts.items():
        if not node.cells and node.parent is None and not node.children:
            continue  # nothing is below it or in it
        above = "" if node.parent is None else node.parent.name
        info.add((name, above, root_of(node).name), 1)
        if state.policy.fair_sharing:
            shares.add((name,), float(dominant_share(node).precise()))
        below = sum(now.cluster_queues.admitted[node.name,] for node in queues_below(node))
        admitted.add((name,), below)
    yield from (info.gauge, shares.gauge, admitted.gauge)


def _drift(now: QueueStats) -> GaugeMetricFamily:
    description = "Jobs that are not as was decided though it was ordered again."
    return GaugeMetricFamily("tidegate_scheduler_drift_workloads", description, value=now.drifting)
