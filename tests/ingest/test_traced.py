"""Of a list no span is sent for each job there is; of what a watch tells one is."""

from __future__ import annotations

from random import Random

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from ingest.metrics import Metrics
from ingest.publish import Publisher
from tests.bus.memory.all_ports import MemoryBus
from tidegate.contracts.observations import JobObserved
from tidegate.service.tracing import OpenTelemetry


@pytest.mark.parametrize(("round", "spans"), [(0, 3), (1, 0)])
async def test_a_job_is_traced_when_a_watch_tells_of_it(round: int, spans: int) -> None:  # noqa: A002 - architecture's word
    provider, kept = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    publisher = Publisher(
        MemoryBus().observation_publisher(),
        cluster="local",
        session="s",
        random=Random(1),
        metrics=Metrics(CollectorRegistry()),
        tracing=OpenTelemetry(provider.get_tracer("tests")),
    )
    for name in ("a", "b", "c"):
        job = JobObserved(
            namespace="n",
            name=name,
            uid=name,
            version=1,
            session="s",
            kind="batch/job",
            workload=name,
        )
        await publisher.publish_object("jobs.batch", job, round=round)
    assert len(kept.get_finished_spans()) == spans
