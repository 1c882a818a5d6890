"""What the actuator counts, for /metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from actuator.kueue_metrics import KueueMetrics

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Every metric of the actuator, registered once a process."""

    def __init__(self, registry: CollectorRegistry, kueue: KueueMetrics | None = None) -> None:
        self.kueue = kueue or KueueMetrics(registry)

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"tidegate_actuator_{name}", about, labels, registry=registry)

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(f"tidegate_actuator_{name}", about, registry=registry)

        self.orders = counter(
            "orders",
            "Orders by what became of them: done, superseded, or why they were reported.",
            "kind",
            "outcome",
        )
        self.order_seconds = Histogram(
            "tidegate_actuator_order_seconds",
            "From reading an order to its end.",
            ["kind"],
            buckets=_SECONDS,
            registry=registry,
        )
        requests = "Requests to the API server by method and status; 0: no answer."
        self.requests = counter("requests", requests, "method", "status")
        self.projected = counter(
            "projected", "Writes of Workloads, queues and Events by outcome.", "kind", "outcome"
        )
        self.passed_over = counter("passed_over", "Entries of the ledger that made no sense.")
        self.forged = counter("forged_events", "Messages in EVENTS that no ledger wrote.")
        self.waiting = gauge("orders_waiting", "Jobs whose newest order is not carried out yet.")
        self.showing = gauge("projections_waiting", "Objects whose status is not up to date yet.")
        self.active = gauge("active", "1 while this actuator holds the lease.")
        self.seq = gauge("ledger_seq", "The newest ledger seq read.")
