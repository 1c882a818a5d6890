"""How far EVENTS reaches back: what it gets again after it was lost, and what is measured of it.

EVENTS is a window onto the ledger's newest entries, bounded by bytes and by age. Lost as a whole it
is opened anew, as wide as it was: a new reader then knows what any reader knew before. What was
published under a ledger's former name is not published under its new one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import msgspec
from prometheus_client import CollectorRegistry, Gauge

from tidegate.bus.retention import EventsRetention
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import LedgerOpened
from tidegate.errors import LedgerUnreachableError, TidegateError
from tidegate.service.logs import get_log

CHUNK_ENTRIES = 1_000
ENVELOPE_BYTES = 600
"""About what EVENTS stores beside a payload and its subject: headers and the record's own."""
Read = Callable[[int, int], Iterator[Entry]]
"""Yields the entries behind one seq up to and with another, in order."""
_window_log = get_log("window")
_OPENED = str(LedgerOpened.__struct_config__.tag).partition("/")[0]
EVERY_S = 60.0
_log = get_log("events")


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The retention limits of the stream EVENTS."""

    bytes_max: int = 512 * 1024 * 1024
    age_us: int = 7 * 24 * 3600 * 1_000_000


def window_begin(read: Read, head: Entry, window: Window, now_us: int) -> int:
    """Return the seq behind which the window begins that ends with ``head``; 0: it holds all.

    Reads back from the end and no further. It ends at archived entries: they are not waited for.

    Raises:
        LedgerUnreachableError: the newest entries cannot be read.
    """
    after, bytes_left = head.seq, window.bytes_max
    if head.at_us <= now_us - window.age_us:
        return after
    while after > 0:
        try:
            chunk = list(read(max(0, after - CHUNK_ENTRIES), after))
        except LedgerUnreachableError as error:
            if after == head.seq:
                raise
            _window_log.warning(
                "EVENTS gets no older entries again: they cannot be read",
                before=after,
                why=str(error),
            )
            return after
        for entry in reversed(chunk):
            bytes_left -= len(entry.payload) + len(entry.subject) + ENVELOPE_BYTES
            if bytes_left < 0 or entry.at_us <= now_us - window.age_us:
                return entry.seq
            if entry.type == _OPENED:
                return entry.seq - 1
        after = max(0, after - CHUNK_ENTRIES)
    return 0


class RetentionGauges:
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

    def record(self, retention: EventsRetention | None) -> None:
        """Note what was measured, and log it once when EVENTS begins to hold less."""
        bytes_wanted = 0 if retention is None else retention.bytes_wanted()
        self._span.set(0 if retention is None else retention.span_s)
        self._wanted.set(bytes_wanted)
        if bytes_wanted and not self._short and retention is not None:
            _log.warning(
                "EVENTS holds less than its days", reach=retention.summary(), bytes=bytes_wanted
            )
        self._short = bool(bytes_wanted)


@asynccontextmanager
async def measure_retention(
    ask: Callable[[], Awaitable[EventsRetention | None]], registry: CollectorRegistry
) -> AsyncGenerator[None]:
    """Measure once a minute while the context is open."""
    task = asyncio.create_task(_measure_forever(ask, RetentionGauges(registry)))
    try:
        yield
    finally:
        task.cancel()


async def _measure_forever(
    ask: Callable[[], Awaitable[EventsRetention | None]], gauges: RetentionGauges
) -> None:
    """Measure for ever; without an answer the last figures stay."""
    while True:
        try:
            gauges.record(await ask())
        except TidegateError as error:
            _log.info("EVENTS cannot be measured now", why=str(error))
        await asyncio.sleep(EVERY_S)
