"""OpenTelemetry traces of single jobs, over all three services; off unless they are asked for.

Off costs nothing: no library is imported, and a span is an empty block. What is decided never
depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from tidegate.contracts.subjects import job_trace_context
from tidegate.errors import SettingsError
from tidegate.urls import redacted

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext, Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NOTHING: Mapping[str, str | int] = {}


class Span(Protocol):
    """A piece of work on one job that was begun."""

    @property
    def context(self) -> str:
        """Return its W3C trace context for the next service; empty if traces are off."""
        ...

    def end(self, error: str = "") -> None:
        """Note that the work is done, or what went wrong with it."""


class Tracing(Protocol):
    """Begins spans."""

    @property
    def on(self) -> bool:
        """Return whether traces are sent."""
        ...

    def begin(
        self, name: str, uid: str, parent: str = "", about: Mapping[str, str | int] = _NOTHING
    ) -> Span:
        """Begin work on the job of that uid; ``parent`` is the context of what led to it."""
        ...


class _NoSpan:
    context = ""

    def end(self, error: str = "") -> None:
        """Note nothing."""


class NoTracing:
    """No traces are sent; see ``Tracing``."""

    on = False

    def begin(
        self,
        name: str,  # noqa: ARG002 - see the protocol
        uid: str,  # noqa: ARG002 - see the protocol
        parent: str = "",  # noqa: ARG002 - see the protocol
        about: Mapping[str, str | int] = _NOTHING,  # noqa: ARG002 - see the protocol
    ) -> Span:
        """Begin nothing."""
        return _NO_SPAN


_NO_SPAN = _NoSpan()
OFF = NoTracing()


class OpenTelemetry:
    """Spans of OpenTelemetry's own; see ``Tracing``."""

    on = True

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def begin(
        self, name: str, uid: str, parent: str = "", about: Mapping[str, str | int] = _NOTHING
    ) -> Span:
        """See ``Tracing.begin``."""
        from opentelemetry.trace import NonRecordingSpan, set_span_in_context  # noqa: PLC0415 - optional

        before = set_span_in_context(
            NonRecordingSpan(_parse_trace_context(parent or job_trace_context(uid)))
        )
        attributes = {"tidegate.job.uid": uid, **about}
        return _OpenTelemetrySpan(
            self._tracer.start_span(name, context=before, attributes=attributes)
        )


class _OpenTelemetrySpan:
    def __init__(self, span: object) -> None:
        from opentelemetry.trace import Span as Real  # noqa: PLC0415 - optional

        assert isinstance(span, Real)
        self._span = span

    @property
    def context(self) -> str:
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def end(self, error: str = "") -> None:
        if error:
            from opentelemetry.trace import StatusCode  # noqa: PLC0415 - optional

            self._span.set_status(StatusCode.ERROR, redacted(error))
        self._span.end()


@contextmanager
def traced_span(
    tracing: Tracing, name: str, uid: str, parent: str, about: Mapping[str, str | int]
) -> Generator[Span]:
    """Trace what the block does as work on a job; see ``Tracing.begin``."""
    span, error = tracing.begin(name, uid, parent, about), "interrupted"
    try:
        yield span
        error = ""
    finally:
        span.end(error)


@contextmanager
def open_tracing(service: str, endpoint: str, share: float = 1.0) -> Generator[Tracing]:
    """Send spans to an OTLP collector over HTTP while the context is open.

    ``endpoint`` is the collector's URL; without one OpenTelemetry's own variables count, and
    without those traces are off. Spans are sent of a ``share`` of all jobs.

    Raises:
        SettingsError: traces are asked for, and ``tidegate[tracing]`` is not installed.
    """
    if not endpoint and not any(os.environ.get(name) for name in ENDPOINTS):
        yield OFF
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - optional
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace.sampling import TraceIdRatioBased  # noqa: PLC0415 - optional
    except ImportError as error:
        raise SettingsError("Traces are asked for: install tidegate[tracing].") from error
    url = endpoint.rstrip("/") + "/v1/traces" if endpoint else None
    provider = TracerProvider(
        resource=Resource.create({"service.name": f"tidegate-{service}"}),
        sampler=TraceIdRatioBased(share),  # by the job's trace, so no service differs
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    try:
        yield OpenTelemetry(provider.get_tracer("tidegate"))
    finally:
        provider.shutdown()  # sends what waits


def _parse_trace_context(context: str) -> SpanContext:
    """Read a W3C trace context; invalid text gives an invalid context."""
    from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext, TraceFlags  # noqa: PLC0415 - optional

    try:
        _, trace, span, flags = context.split("-")
        return SpanContext(int(trace, 16), int(span, 16), True, TraceFlags(int(flags, 16)))  # noqa: FBT003 - remote
    except ValueError:
        return INVALID_SPAN_CONTEXT
