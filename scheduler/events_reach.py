"""Measures at intervals how far EVENTS reaches back, for metrics and logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry, Gauge

from tidegate.bus.reach import Reach
from tidegate.errors import TidegateError
from tidegate.service.logs import get_log

EVERY_S = 60.0
_log = get_log("events")


class ReachGauges:
    """How far EVENTS reaches back, and the bytes that it lacks for the days that are wanted."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._span = Gauge(
            "tidegate_scheduler_events_reach_seconds",
            "From the oldest message of EVENTS to its newest.",
            registry=registry,
        )
        self._wanted = Gauge(
            "tidegate_scheduler_events_wanted_bytes",
            "The limit with which EVENTS would hold its days at the measured rate; 0: it does.",
            registry=registry,
        )
        self._short = False

    def tell(self, reach: Reach | None) -> None:
        """Note what was measured, and log it once when EVENTS begins to hold less."""
        bytes_wanted = 0 if reach is None else reach.bytes_wanted()
        self._span.set(0 if reach is None else reach.span_s)
        self._wanted.set(bytes_wanted)
        if bytes_wanted and not self._short and reach is not None:
            _log.warning(
                "EVENTS holds less than its days", reach=reach.summary(), bytes=bytes_wanted
            )
        self._short = bool(bytes_wanted)


@asynccontextmanager
async def measured(
    ask: Callable[[], Awaitable[Reach | None]], registry: CollectorRegistry
) -> AsyncGenerator[None]:
    """Measure once a minute while the context is open."""
    task = asyncio.create_task(_measure(ask, ReachGauges(registry)))
    try:
        yield
    finally:
        task.cancel()


async def _measure(ask: Callable[[], Awaitable[Reach | None]], gauges: ReachGauges) -> None:
    """Measure for ever; without an answer the last figures stay."""
    while True:
        try:
            gauges.tell(await ask())
        except TidegateError as error:
            _log.info("EVENTS cannot be measured now", why=str(error))
        await asyncio.sleep(EVERY_S)
