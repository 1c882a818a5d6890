"""Kueue's counters and histograms by their names there, each for ClusterQueues and LocalQueues.

Source: Kueue's reference of metrics; docs/metrics.md has the whole list beside ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram

from scheduler.metrics.exposed import ExposedQueues
from tidegate.core.state.state import State

LONG = (1.0, 2.5, *(5.0 * 2**n for n in range(14)))  # up to 40960 s
SHORT = LONG[:-2]  # up to 10240 s
GO_CLIENT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Kueue's where it names none: prometheus_client's own default has others between them."""
ROLE = "leader"
"""Only the leader has a state, so a standby has no series of queues."""
_Add: TypeAlias = Callable[[float], None]


class Labels(NamedTuple):
    """The labels of a workload's series."""

    cluster_queue: str
    namespace: str
    queue: str
    priority_class: str


@lru_cache(maxsize=4_096)
def interned_labels(labels: Labels) -> Labels:
    """Return the one object for equal labels: thousands of workloads have the same."""
    return labels


class FigurePair:
    """One figure, by ClusterQueue and again by LocalQueue."""

    def __init__(
        self,
        by_cluster_queue: Counter | Histogram,
        by_local_queue: Counter | Histogram | None,
        extra: tuple[str, ...],
        exposure: ExposedQueues,
    ) -> None:
        self._by_cluster_queue, self._by_local_queue = by_cluster_queue, by_local_queue
        self._extra, self._exposure = extra, exposure
        self._adders = dict[tuple[Labels, tuple[str, ...]], tuple[_Add, ...]]()

    def add(self, series: Labels, amount: float = 1.0, *extra: str) -> None:
        """Count ``amount``, or observe it if the figure is a histogram.

        ``extra`` are the values of the labels that are not the queue, the class or the role.
        """
        adders = self._adders.get((series, extra))
        if adders is None:
            adders = self._adders[series, extra] = self._make_adders(series, extra)
        for add in adders:
            add(amount)

    def clear_cache(self) -> None:
        """Look series up again: some were removed."""
        self._adders.clear()

    def _make_adders(self, series: Labels, extra: tuple[str, ...]) -> tuple[_Add, ...]:
        label_values = (*extra, series.priority_class) if "priority_class" in self._extra else extra
        adders = (
            _adder_of(self._by_cluster_queue.labels(series.cluster_queue, *label_values, ROLE)),
        )
        local = self._by_local_queue
        if local is None or not self._exposure.covers(series.namespace, series.queue):
            return adders
        return *adders, _adder_of(local.labels(series.queue, series.namespace, *label_values, ROLE))


def _adder_of(child: Counter | Histogram) -> _Add:
    """Return what adds to a series; once for each, as the library's classes are slow to tell."""
    return child.inc if isinstance(child, Counter) else child.observe


class FigureMaker:
    """Makes figures in one registry; LocalQueues may be left out."""

    def __init__(self, registry: CollectorRegistry, exposure: ExposedQueues) -> None:
        self._registry, self._exposure = registry, exposure
        self.by_cluster_queue = list[Counter | Histogram]()
        self.by_local_queue = list[Counter | Histogram]()
        self._pairs = list[FigurePair]()

    def counter(self, name: str, description: str, *extra: str, local: bool = True) -> FigurePair:
        """Return a counter pair; ``extra`` are labels beside queue and role."""
        cluster = Counter(
            f"kueue_{name}",
            description,
            ("cluster_queue", *extra, "replica_role"),
            registry=self._registry,
        )
        other = None
        if local and self._exposure.enabled:
            labels = ("name", "namespace", *extra, "replica_role")
            other = Counter(
                f"kueue_local_queue_{name}", description, labels, registry=self._registry
            )
        return self._register(cluster, other, extra)

    def seconds(
        self,
        name: str,
        description: str,
        *extra: str,
        buckets: tuple[float, ...] = SHORT,
        local_buckets: tuple[float, ...] = SHORT,
        local: bool = True,
    ) -> FigurePair:
        """Return a pair of histograms of seconds."""
        labels = ("cluster_queue", *extra, "replica_role")
        cluster = Histogram(
            f"kueue_{name}", description, labels, buckets=buckets, registry=self._registry
        )
        other = None
        if local and self._exposure.enabled:
            labels = ("name", "namespace", *extra, "replica_role")
            other = Histogram(
                f"kueue_local_queue_{name}",
                description,
                labels,
                buckets=local_buckets,
                registry=self._registry,
            )
        return self._register(cluster, other, extra)

    def _register(
        self,
        cluster: Counter | Histogram,
        other: Counter | Histogram | None,
        extra: tuple[str, ...],
    ) -> FigurePair:
        self.by_cluster_queue.append(cluster)
        if other is not None:
            self.by_local_queue.append(other)
        self._pairs.append(FigurePair(cluster, other, extra, self._exposure))
        return self._pairs[-1]

    def forget_cluster_queue(self, name: str) -> None:
        """Drop every series of a deleted ClusterQueue."""
        for metric in self.by_cluster_queue:
            metric.remove_by_labels({"cluster_queue": name})
        self._clear_caches()

    def forget_local_queue(self, namespace: str, name: str) -> None:
        """Drop every series of a deleted LocalQueue."""
        for metric in self.by_local_queue:
            metric.remove_by_labels({"name": name, "namespace": namespace})
        self._clear_caches()

    def follow_local_queue(self, namespace: str, name: str) -> None:
        """Begin or end the series of a LocalQueue whose labels may have changed."""
        if self._exposure.covers(namespace, name):
            self._clear_caches()
        else:
            self.forget_local_queue(namespace, name)

    def _clear_caches(self) -> None:
        for pair in self._pairs:
            pair.clear_cache()


class CohortCounter:
    """A counter by cohort and priority class."""

    def __init__(self, name: str, description: str, registry: CollectorRegistry) -> None:
        labels = ("cohort", "priority_class", "replica_role")
        self._counter = Counter(name, description, labels, registry=registry)
        self._series = dict[str, dict[str, Counter]]()  # by cohort and priority class

    def add(self, cohort: str, priority_class: str) -> None:
        """Count one for a cohort."""
        series = self._series.setdefault(cohort, {})
        if priority_class not in series:  # to look it up takes longer than to count
            series[priority_class] = self._counter.labels(cohort, priority_class, ROLE)
        series[priority_class].inc()

    def retain(self, state: State) -> None:
        """Drop every series of cohorts that no tree has; none before the trees are built anew."""
        if state.forest.stale:
            return
        for name in self._series.keys() - state.forest.cohorts.keys():
            del self._series[name]
            self._counter.remove_by_labels({"cohort": name})
