"""Kueue's counters and histograms by their names there, each for ClusterQueues and LocalQueues.

Source: Kueue's reference of metrics; docs/metrics.md has the whole list beside ours.
"""

from __future__ import annotations

from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram

LONG = (1.0, 2.5, *(5.0 * 2**n for n in range(14)))  # up to 40960 s
SHORT = LONG[:-2]  # up to 10240 s
ROLE = "leader"
"""Only who leads knows, so a standby tells nothing of queues."""


class Who(NamedTuple):
    """Whom a workload's figures are counted for."""

    cluster_queue: str
    namespace: str
    queue: str
    priority_class: str


class Pair:
    """One figure, told by ClusterQueue and again by LocalQueue."""

    def __init__(
        self,
        by_cluster_queue: Counter | Histogram,
        by_local_queue: Counter | Histogram | None,
        extra: tuple[str, ...],
    ) -> None:
        self.cluster, self.local, self._extra = by_cluster_queue, by_local_queue, extra

    def add(self, who: Who, amount: float = 1.0, **extra: str) -> None:
        """Count ``amount``, or observe it if the figure is a histogram."""
        of_cluster = {"cluster_queue": who.cluster_queue, "replica_role": ROLE, **extra}
        of_local = {"name": who.queue, "namespace": who.namespace, "replica_role": ROLE, **extra}
        for metric, labels in ((self.cluster, of_cluster), (self.local, of_local)):
            if metric is None:
                continue
            if "priority_class" in self._extra:
                labels["priority_class"] = who.priority_class
            child = metric.labels(**labels)
            child.inc(amount) if isinstance(child, Counter) else child.observe(amount)


class Maker:
    """Makes figures in one registry; LocalQueues may be left out."""

    def __init__(self, registry: CollectorRegistry, *, local_queues: bool) -> None:
        self._registry, self._local_queues = registry, local_queues
        self.by_cluster_queue = list[Counter | Histogram]()
        self.by_local_queue = list[Counter | Histogram]()

    def counter(self, name: str, said: str, *extra: str, local: bool = True) -> Pair:
        """Return a counter pair; ``extra`` are labels beside queue and role."""
        cluster = Counter(
            f"kueue_{name}",
            said,
            ("cluster_queue", *extra, "replica_role"),
            registry=self._registry,
        )
        other = None
        if local and self._local_queues:
            labels = ("name", "namespace", *extra, "replica_role")
            other = Counter(f"kueue_local_queue_{name}", said, labels, registry=self._registry)
        return self._kept(cluster, other, extra)

    def seconds(
        self,
        name: str,
        said: str,
        *extra: str,
        buckets: tuple[float, ...] = SHORT,
        local_buckets: tuple[float, ...] = SHORT,
        local: bool = True,
    ) -> Pair:
        """Return a pair of histograms of seconds."""
        labels = ("cluster_queue", *extra, "replica_role")
        cluster = Histogram(f"kueue_{name}", said, labels, buckets=buckets, registry=self._registry)
        other = None
        if local and self._local_queues:
            labels = ("name", "namespace", *extra, "replica_role")
            other = Histogram(
                f"kueue_local_queue_{name}",
                said,
                labels,
                buckets=local_buckets,
                registry=self._registry,
            )
        return self._kept(cluster, other, extra)

    def _kept(
        self,
        cluster: Counter | Histogram,
        other: Counter | Histogram | None,
        extra: tuple[str, ...],
    ) -> Pair:
        self.by_cluster_queue.append(cluster)
        if other is not None:
            self.by_local_queue.append(other)
        return Pair(cluster, other, extra)

    def forget_cluster_queue(self, name: str) -> None:
        """Drop every series of a ClusterQueue that is gone."""
        for metric in self.by_cluster_queue:
            metric.remove_by_labels({"cluster_queue": name})

    def forget_local_queue(self, namespace: str, name: str) -> None:
        """Drop every series of a LocalQueue that is gone."""
        for metric in self.by_local_queue:
            metric.remove_by_labels({"name": name, "namespace": namespace})
