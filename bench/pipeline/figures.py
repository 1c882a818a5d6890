"""The figures of one phase, and the table of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import quantiles

import msgspec

from bench.pipeline.counters import PARTS, Counters
from bench.pipeline.player import Course

STAGES: Mapping[str, tuple[str, str]] = {
    "created to observed": ("created_s", "observed_s"),
    "observed to ordered": ("observed_s", "ordered_s"),
    "ordered to start": ("ordered_s", "started_s"),
    "created to ordered": ("created_s", "ordered_s"),
    "created to Admitted": ("created_s", "admitted_s"),
    "finished to shown": ("finished_s", "shown_s"),
}
"""Each by the moments of a course that it lies between."""


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
    fsyncs: Mapping[str, float]  # a Job, by process; without processes that cannot be counted
    minstr: Mapping[str, float]  # millions of instructions in user mode a Job, where counted
    rss_mib: Mapping[str, float]
    latencies: Mapping[str, Latency]

    loops_per_s: float  # of Python, a CPU second, as fast as the machine was meanwhile

    @property
    def kiloloops(self) -> float:
        """Return the CPU time in loops of Python: beside other programs each of them is slower."""
        return self.cpu_all_ms * self.loops_per_s / 1e6

    @property
    def cpu_all_ms(self) -> float:
        """Return the CPU milliseconds that a Job takes in all processes."""
        return sum(self.cpu_ms.values())


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """What was noted while a rate was played."""

    name: str
    wall_s: float
    took: Counters
    courses: Sequence[Course]
    loops_per_s: float
    requests: int  # that the API server's stub got
    fsyncs: Mapping[str, int]
    instructions: Mapping[str, int]


def phase(played: Played) -> Phase:
    """Return the figures of a phase whose Jobs are all shown as finished."""
    took, courses, jobs = played.took, played.courses, len(played.courses)
    each = {label: value / jobs for label, value in took.counted.items()}
    return Phase(
        name=played.name,
        jobs=jobs,
        wall_s=played.wall_s,
        loops_per_s=played.loops_per_s,
        cpu_ms={part: 1e3 * value / jobs for part, value in took.cpu_s.items()},
        each={**each, "API requests": played.requests / jobs},
        written={part: value / jobs for part, value in took.written.items()},
        rss_mib=took.rss_mib,
        fsyncs={part: value / jobs for part, value in played.fsyncs.items()},
        minstr={part: value / jobs / 1e6 for part, value in played.instructions.items()},
        latencies={stage: _latency(courses, *ends) for stage, ends in STAGES.items()},
    )


def lines(phases: Sequence[Phase]) -> Iterator[str]:
    """Yield a table of CPU time, one of what is counted and one of latencies, a row each phase."""
    parts = [part for part in PARTS if part in phases[0].cpu_ms]
    yield from _table(
        ("CPU ms a Job", "Jobs/s", "all", "all in kiloloops", *parts),
        (
            (row.name, (row.jobs / row.wall_s, row.cpu_all_ms, row.kiloloops, *row.cpu_ms.values()))
            for row in phases
        ),
    )
    yield from _table(
        ("a Job", *phases[0].each, *(f"fsyncs: {part}" for part in phases[0].fsyncs)),
        ((row.name, (*row.each.values(), *row.fsyncs.values())) for row in phases),
    )
    if phases[0].minstr:
        yield from _table(
            ("million instructions a Job", "all", *phases[0].minstr),
            ((row.name, (sum(row.minstr.values()), *row.minstr.values())) for row in phases),
        )
    yield from _table(
        ("write calls a Job", *parts), ((row.name, tuple(row.written.values())) for row in phases)
    )
    yield from _table(
        ("p50, p99 in ms", *(head for stage in STAGES for head in (stage, "p99"))),
        ((row.name, tuple(_waits(row))) for row in phases),
    )
    yield "Memory, MiB: " + ", ".join(f"{part} {phases[-1].rss_mib[part]:.0f}" for part in parts)


def _table(head: Sequence[str], rows: Iterable[tuple[str, Sequence[float]]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "| --- |" + " --: |" * (len(head) - 1)
    for name, values in rows:
        yield f"| {name} | {' | '.join(f'{value:.3g}' for value in values)} |"
    yield ""


def _waits(row: Phase) -> Iterator[float]:
    for latency in row.latencies.values():
        yield from (latency.p50_ms, latency.p99_ms)


def _latency(courses: Sequence[Course], begin: str, end: str) -> Latency:
    took_ms = (1e3 * (getattr(course, end) - getattr(course, begin)) for course in courses)
    cuts = quantiles(took_ms, n=100)
    return Latency(cuts[49], cuts[98])
