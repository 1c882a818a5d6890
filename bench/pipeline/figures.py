"""The figures of one phase, and the table of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import quantiles

import msgspec

from bench.pipeline.counters import PARTS, Counters
from bench.pipeline.player import Course


class Latency(msgspec.Struct, frozen=True):
    """One stage, in milliseconds."""

    p50_ms: float
    p99_ms: float


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """What one rate of arrivals gave."""

    name: str
    jobs: int
    wall_s: float
    cpu_ms: Mapping[str, float]  # a Job, by process
    each: Mapping[str, float]  # turns, observations, entries and API requests a Job
    written: Mapping[str, float]  # write calls a Job, by process
    rss_mib: Mapping[str, float]
    latencies: Mapping[str, Latency]

    @property
    def cpu_all_ms(self) -> float:
        """Return the CPU milliseconds that a Job takes in all processes."""
        return sum(self.cpu_ms.values())


def phase(
    name: str, wall_s: float, took: Counters, courses: Sequence[Course], requests: int
) -> Phase:
    """Return the figures of a phase whose Jobs are all shown as finished."""
    jobs = len(courses)
    each = {what: value / jobs for what, value in took.counted.items()}
    return Phase(
        name=name,
        jobs=jobs,
        wall_s=wall_s,
        cpu_ms={part: 1e3 * value / jobs for part, value in took.cpu_s.items()},
        each={**each, "API requests": requests / jobs},
        written={part: value / jobs for part, value in took.written.items()},
        rss_mib=took.rss_mib,
        latencies={
            "created to start": _latency(courses, lambda one: one.started_s - one.created_s),
            "created to Admitted": _latency(courses, lambda one: one.admitted_s - one.created_s),
            "finished to shown": _latency(courses, lambda one: one.shown_s - one.finished_s),
        },
    )


def lines(phases: Sequence[Phase]) -> Iterator[str]:
    """Yield a table with a row each phase, and one of what is counted."""
    yield (
        "| load | Jobs/s | CPU ms a Job | "
        + " | ".join(PARTS)
        + " | start p50 | p99 ms | Admitted p50 | p99 ms | end shown p50 | p99 ms |"
    )
    yield "| --- |" + " --: |" * (len(PARTS) + 8)
    for one in phases:
        waits = " | ".join(f"{it.p50_ms:.0f} | {it.p99_ms:.0f}" for it in one.latencies.values())
        parts = " | ".join(f"{one.cpu_ms[part]:.2f}" for part in PARTS)
        yield (
            f"| {one.name} | {one.jobs / one.wall_s:.0f} | {one.cpu_all_ms:.2f} "
            f"| {parts} | {waits} |"
        )
    yield ""
    counted = tuple(phases[0].each)
    yield "| a Job | " + " | ".join((*counted, *(f"writes: {part}" for part in PARTS))) + " |"
    yield "| --- |" + " --: |" * (len(counted) + len(PARTS))
    for one in phases:
        values = [*one.each.values(), *(one.written[part] for part in PARTS)]
        yield f"| {one.name} | " + " | ".join(f"{value:.2f}" for value in values) + " |"
    memory = ", ".join(f"{part} {phases[-1].rss_mib[part]:.0f}" for part in PARTS)
    yield f"\nMemory at the end, MiB: {memory}"


def _latency(courses: Sequence[Course], took_s: Callable[[Course], float]) -> Latency:
    cuts = quantiles((1e3 * took_s(one) for one in courses), n=100)
    return Latency(cuts[49], cuts[98])
