"""The metrics of ingest, for /metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

Observed: TypeAlias = Callable[[str, str], Counter]
"""Returns the counter of a resource's observations of which the same became."""


class Metrics:
    """Every metric of ingest, registered once a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.observations = Counter(
            "tidegate_ingest_observations",
            "Observations by what became of them: published, suppressed, refused, failed.",
            ["resource", "outcome"],
            registry=registry,
        )
        self.observed: Observed = cache(self.observations.labels)  # to look it up takes longer
        self.relists = Counter(
            "tidegate_ingest_relists",
            "Lists of a resource by reason.",
            ["resource", "why"],
            registry=registry,
        )
        self.watch_open = Gauge(
            "tidegate_ingest_watch_open",
            "1 while the watch of a resource is open.",
            ["resource"],
            registry=registry,
        )
        self.publish_retries = Counter(
            "tidegate_ingest_publish_retries",
            "Publishes that the bus did not answer and that were sent again.",
            registry=registry,
        )
        self.heartbeats = Counter(
            "tidegate_ingest_heartbeats", "Heartbeats published.", registry=registry
        )
        self.publish_seconds = Histogram(
            "tidegate_ingest_publish_seconds",
            "From handing an observation to the bus until it is stored, waits for room included.",
            buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0),
            registry=registry,
        )
