"""The dispatcher's metrics, for /metrics; names without a prefix are Kueue's."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

_LABELS = ("cluster_queue", "cluster", "replica_role")


class Metrics:
    """Every metric of the dispatcher, registered once a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.active = Gauge(
            "tidegate_dispatcher_active",
            "1 while this dispatcher holds the lease.",
            registry=registry,
        )
        self.dispatched = Counter(
            "multikueue_workloads_dispatched",
            "Copies of Workloads that were made on worker clusters.",
            _LABELS,
            registry=registry,
        )
        self.admitted = Counter(
            "multikueue_workloads_admitted",
            "Workloads that a worker cluster admitted.",
            _LABELS,
            registry=registry,
        )

    def count_copy(self, cluster_queue: str, cluster: str) -> None:
        """Count a copy that was made."""
        self.dispatched.labels(cluster_queue, cluster, "leader").inc()

    def forget(self, label: str, name: str) -> None:
        """Drop the series of a ClusterQueue or a worker cluster that is gone."""
        for counter in (self.dispatched, self.admitted):
            counter.remove_by_labels({label: name})
