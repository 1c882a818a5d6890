"""What the actuator counts, for /metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Every metric of the actuator, registered once a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.orders = Counter(
            "tidegate_actuator_orders",
            "Orders by what became of them: done, superseded, or the reason they were reported.",
            ["kind", "outcome"],
            registry=registry,
        )
        self.order_seconds = Histogram(
            "tidegate_actuator_order_seconds",
            "From reading an order to its end.",
            ["kind"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.requests = Counter(
            "tidegate_actuator_requests",
            "Requests to the API server by method and status; 0: no answer.",
            ["method", "status"],
            registry=registry,
        )
        self.waiting = Gauge(
            "tidegate_actuator_orders_waiting",
            "Objects whose newest order is not carried out yet.",
            registry=registry,
        )
        self.active = Gauge(
            "tidegate_actuator_active", "1 while this actuator holds the lease.", registry=registry
        )
        self.seq = Gauge(
            "tidegate_actuator_ledger_seq", "The newest ledger seq read.", registry=registry
        )
        self.projected = Counter(
            "tidegate_actuator_projected",
            "Writes of Workloads, queue statuses and Events by outcome.",
            ["kind", "outcome"],
            registry=registry,
        )
        self.showing = Gauge(
            "tidegate_actuator_projections_waiting",
            "Objects that do not show yet what they shall.",
            registry=registry,
        )
