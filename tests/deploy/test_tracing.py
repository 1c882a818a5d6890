"""One job is followed through the three services: one trace, whose spans lead to each other."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from actuator.__main__ import actuate
from actuator.settings import Settings as ActuatorSettings
from ingest.__main__ import ingest
from ingest.settings import Settings as IngestSettings
from scheduler.__main__ import scheduler
from scheduler.settings import Settings as SchedulerSettings
from tests.e2e.cast import eventually, job_of, make_queues, submit
from tidegate.bus.embedded import embedded_server
from tidegate.cluster.install import install, manifests_folder
from tidegate.contracts.subjects import job_trace_context
from tidegate.errors import SettingsError
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.service.health import Health
from tidegate.service.running import Body, Service
from tidegate.service.tracing import OFF, OpenTelemetry, open_tracing


class Traced:
    """The three services as tasks, whose spans one exporter keeps."""

    def __init__(self) -> None:
        self.kept = InMemorySpanExporter()
        self._services = list[Service]()
        self._running = list[asyncio.Task[None]]()

    def start(self, name: str, body: Body) -> None:
        """Run one service until ``stop``."""
        provider = TracerProvider(resource=Resource.create({"service.name": name}))
        provider.add_span_processor(SimpleSpanProcessor(self.kept))
        tracing = OpenTelemetry(provider.get_tracer("tests"))
        registry = CollectorRegistry()
        service = Service(name, Health(registry), registry, Random(1), f"{name}-1", tracing=tracing)
        self._services.append(service)
        self._running.append(asyncio.ensure_future(body(service)))

    async def stop(self) -> None:
        """Drain all."""
        for service in self._services:
            service.stopping.set()
        await asyncio.gather(*self._running)

    def spans(self, uid: str) -> dict[str, ReadableSpan]:
        """Return the first finished span of each name that is about a job."""
        mapping = dict[str, ReadableSpan]()
        for span in self.all_of(uid):
            mapping.setdefault(span.name, span)
        return mapping

    def all_of(self, uid: str) -> list[ReadableSpan]:
        """Return every finished span that is about a job."""
        finished = self.kept.get_finished_spans()
        return [
            readable_span
            for readable_span in finished
            if (readable_span.attributes or {}).get("tidegate.job.uid") == uid
        ]


@asynccontextmanager
async def running(folder: Path, kubeconfig: str) -> AsyncGenerator[Traced]:
    """Run the services on a cluster, with a bus of their own."""
    traced = Traced()
    async with embedded_server(folder / "nats") as url:
        settings = SchedulerSettings(nats_url=url, ledger=f"sqlite:///{folder}/ledger.db")
        traced.start("scheduler", lambda service: scheduler(service, settings))
        sees = IngestSettings(nats_url=url, kubeconfig=kubeconfig)
        traced.start("ingest", lambda service: ingest(service, sees))
        does = ActuatorSettings(nats_url=url, kubeconfig=kubeconfig)
        traced.start("actuator", lambda service: actuate(service, does))
        try:
            yield traced
        finally:
            await traced.stop()


@pytest.mark.slow
@pytest.mark.real
async def test_a_job_is_one_trace_from_observation_to_start(own_api: str, tmp_path: Path) -> None:
    async with connect(Access(kubeconfig=own_api)) as api:
        await install(api, manifests_folder(), print)
        await make_queues(api, {"traced": "2"})
        async with running(tmp_path, own_api) as traced:
            await submit(api, "traced", "zero", cpu="1", seconds=1)  # perhaps reported by a list
            zero = (await job_of(api, "traced", "zero"))["metadata"]["uid"]
            await eventually(lambda: "carry out Start" in traced.spans(zero), "it is watched")
            await submit(api, "traced", "one", cpu="1", seconds=1)
            uid = (await job_of(api, "traced", "one"))["metadata"]["uid"]
            await eventually(lambda: "carry out Start" in traced.spans(uid), "it is started")
    spans = traced.spans(uid)
    observed, decided = spans["observe batch/job"], spans["decide StartOrdered"]
    done = spans["carry out Start"]
    assert {s.context.trace_id for s in spans.values()} == {int(job_trace_context(uid)[3:35], 16)}
    services = [span.resource.attributes["service.name"] for span in (observed, decided, done)]
    assert services == ["ingest", "scheduler", "actuator"]
    assert done.parent is not None
    assert done.parent.span_id == decided.context.span_id
    assert decided.parent is not None
    # A Job's own status changes are observed too, so that the decision may follow from any of them.
    sightings = [
        readable_span for readable_span in traced.all_of(uid) if readable_span.name == observed.name
    ]
    assert decided.parent.span_id in {sighting.context.span_id for sighting in sightings}
    assert (done.attributes or {})["tidegate.seq"] == (decided.attributes or {})["tidegate.seq"]


def test_nothing_is_traced_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    with open_tracing("ingest", "") as tracing:
        assert tracing is OFF
    span = OFF.begin("observe", "uid")
    assert (OFF.on, span.context) == (False, "")


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_share_of_jobs_is_traced_the_same_ones_by_each_service(share: float) -> None:
    chosen = list[list[bool]]()
    for service in ("ingest", "scheduler"):
        with open_tracing(service, "http://127.0.0.1:1", share) as tracing:
            begun = [tracing.begin("work", f"uid-{number}") for number in range(400)]
        chosen.append([span.context.endswith("-01") for span in begun])
    assert chosen[0] == chosen[1]
    assert abs(sum(chosen[0]) / 400 - share) < 0.08


def test_what_is_asked_for_and_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with (
        pytest.raises(SettingsError, match=r"tidegate\[tracing\]"),
        open_tracing("ingest", "http://127.0.0.1:1"),
    ):
        pass


def _span(parent: str) -> ReadableSpan:
    provider, kept = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    OpenTelemetry(provider.get_tracer("tests")).begin("work", "uid", parent).end("it broke")
    (span,) = kept.get_finished_spans()
    return span


@pytest.mark.parametrize("parent", ["", job_trace_context("uid")])
def test_without_what_led_to_it_a_span_is_in_its_jobs_trace(parent: str) -> None:
    span = _span(parent)
    assert f"{span.context.trace_id:032x}" == job_trace_context("uid")[3:35]
    assert span.status.description == "it broke"


@pytest.mark.parametrize("parent", ["nonsense", "00-x-y-01", "00-00-00-01"])
def test_a_context_that_cannot_be_read_is_none(parent: str) -> None:
    assert _span(parent).parent is None
