"""How far EVENTS reaches back is reported in numbers, and in the log once when it is too little."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from scheduler.events_retention import EVERY_S, measure_retention
from tests.parts.virtual import run_virtually
from tidegate.bus.retention import EventsRetention
from tidegate.errors import BusUnreachableError

DAY_S, MIB = 86_400.0, 1024 * 1024
SERIES = "reach_seconds", "wanted_bytes"
FULL = EventsRetention(span_s=2 * DAY_S, held_bytes=99 * MIB, bytes_max=100 * MIB, age_s=7 * DAY_S)
ROOMY = EventsRetention(span_s=2 * DAY_S, held_bytes=9 * MIB, bytes_max=100 * MIB, age_s=7 * DAY_S)


def figures(
    answers: Sequence[EventsRetention | Exception | None],
) -> list[tuple[float | None, ...]]:
    """Return the two figures after each answer."""
    registry, values = CollectorRegistry(), list[tuple[float | None, ...]]()
    left = list(answers)

    async def ask() -> EventsRetention | None:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def run() -> None:
        async with measure_retention(ask, registry):
            for _ in answers:
                await asyncio.sleep(EVERY_S / 2)
                names = [f"tidegate_scheduler_events_{text}" for text in SERIES]
                values.append(tuple(registry.get_sample_value(text) for text in names))
                await asyncio.sleep(EVERY_S / 2)

    left.append(None)
    run_virtually(run())
    return values


def test_figures_follow_what_is_measured_and_stand_while_no_answer_comes() -> None:
    away = BusUnreachableError("away")
    assert figures([None, ROOMY, FULL, away, ROOMY]) == [
        (0, 0),
        (2 * DAY_S, 0),
        (2 * DAY_S, 434 * MIB),
        (2 * DAY_S, 434 * MIB),
        (2 * DAY_S, 0),
    ]


def test_the_log_says_it_once_as_long_as_it_is_so() -> None:
    structlog.reset_defaults()  # a simulation in this process may have made loggers quiet
    with capture_logs() as documents:
        figures([FULL, FULL, ROOMY, FULL])
    items = [
        log_line for log_line in documents if log_line["event"] == "EVENTS holds less than its days"
    ]
    assert [line["bytes"] for line in items] == [434 * MIB] * 2
