"""What a step costs, an end and a submission, in a cluster like users' that is full."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from resource import getpagesize
from statistics import median, median_low

import msgspec

from bench.real.arrivals import Job, jobs, mean_work
from bench.real.cluster import Cluster
from bench.real.objects import GPUS, ON_DEMAND_CPU, SPOT_CPU, beginning
from tidegate.contracts.facts import WorkloadSubmitted

STEPS = 200
_MILLI = 1_000
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(WorkloadSubmitted).decode


class RealFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or the medians of some."""

    queues: int
    pending: int
    fair: bool
    steps: int
    median_ms: float
    p99_ms: float
    decisions_s: float
    preemptions: float  # for each outside change
    preemptions_max: int
    lost: float  # share of what was run, by those that still run, too
    bytes_each: float  # of a workload that waits

    def line(self) -> str:
        """Return the run as a line of the report."""
        sharing = "fair" if self.fair else "classic"
        return (
            f"real, {sharing}: {self.queues} queues, {self.pending} pending: a step takes "
            f"{self.median_ms:.2f} ms (p99 {self.p99_ms:.2f}, {self.steps} steps), "
            f"{self.decisions_s:.0f} decisions/s, {self.preemptions:.2f} preemptions a change "
            f"(at most {self.preemptions_max}), {self.lost:.1%} lost, "
            f"{self.bytes_each:.0f} bytes a pending workload"
        )


def median_figures(runs: list[RealFigures]) -> RealFigures:
    """Return the median of each figure."""
    first = runs[0]
    return RealFigures(
        queues=first.queues,
        pending=first.pending,
        fair=first.fair,
        steps=median_low(run.steps for run in runs),
        median_ms=median(run.median_ms for run in runs),
        p99_ms=median(run.p99_ms for run in runs),
        decisions_s=median(run.decisions_s for run in runs),
        preemptions=median(run.preemptions for run in runs),
        preemptions_max=max(run.preemptions_max for run in runs),
        lost=median(run.lost for run in runs),
        bytes_each=median(run.bytes_each for run in runs),
    )


def measure(  # noqa: PLR0913 - each is one dimension of the measurement
    queues: int, pending: int, mode: str, *, fair: bool, seed: int, cpu_s_max: float
) -> RealFigures:
    """Fill a cluster until so many wait, then measure steps of random arrivals and ends.

    ``cpu_s_max`` bounds the steps' CPU seconds; 0 does not.
    """
    cluster = Cluster()
    cluster.fold(beginning(queues, mode, fair=fair))
    cluster.decide()
    coming = jobs("heavy", queues, arrivals_a_second(queues), seed)
    running = _fill(cluster, coming, queues, pending)
    bytes_each = _queue_up(cluster, coming, pending - (len(cluster.jobs) - running))
    cluster.decide()
    cluster.tally = type(cluster.tally)()
    _run(cluster, coming, cpu_s_max)
    return _figures(cluster, queues, pending, fair=fair, bytes_each=bytes_each)


def arrivals_a_second(queues: int) -> float:
    """Return how many jobs a second use all quota, a GPU counting as ten CPUs."""
    milli = queues * (ON_DEMAND_CPU + SPOT_CPU + 10 * GPUS) * _MILLI
    return milli / mean_work()


def _fill(cluster: Cluster, coming: Iterator[Job], queues: int, pending: int) -> int:
    """Submit jobs, decided each by itself, until the quota is in use; return how many run."""
    full = 0
    while full < queues and len(cluster.jobs) - len(cluster.running) < pending:
        before = len(cluster.running)
        cluster.arrive(_now(next(coming)))
        cluster.decide()
        full = full + 1 if len(cluster.running) <= before else 0
    return len(cluster.running)


def _queue_up(cluster: Cluster, coming: Iterator[Job], count: int) -> float:
    """Submit jobs that will wait; return the bytes that each takes in the core alone."""
    waiting = [_now(next(coming)) for _ in range(count)]
    rows = [_encode(job.asked) for job in waiting]
    cluster.jobs.update((job.asked.workload, job) for job in waiting)
    gc.collect()
    gc.freeze()
    before = _resident()
    for payload in rows:
        cluster.fold([_decode(payload)])
    return (_resident() - before) / count if count > 0 else 0.0


def _now(job: Job) -> Job:
    """Return a job as if it had been submitted when everything began."""
    workload_submitted = msgspec.structs.replace(job.asked, at_us=0, created_us=0)
    return Job(workload_submitted, job.run_us, job.cpu)


def _run(cluster: Cluster, coming: Iterator[Job], cpu_s_max: float) -> None:
    """Let jobs arrive and end as time passes, until there were enough steps."""
    start_us = next(coming).at_us
    for job in coming:
        at_us = job.at_us - start_us
        workload_submitted = msgspec.structs.replace(job.asked, at_us=at_us, created_us=at_us)
        cluster.run_until(at_us)
        cluster.step(Job(workload_submitted, job.run_us, job.cpu))
        late = 0 < cpu_s_max * 1e9 < cluster.tally.cpu_ns
        if cluster.tally.changes >= 2 * STEPS or late:
            return


def _figures(
    cluster: Cluster, queues: int, pending: int, *, fair: bool, bytes_each: float
) -> RealFigures:
    tally = cluster.tally
    pairs = [cost + other for cost, other in pairwise(tally.costs_ns)] or tally.costs_ns
    ordered = sorted(pairs)
    return RealFigures(
        queues=queues,
        pending=pending,
        fair=fair,
        steps=tally.changes // 2,
        median_ms=median(ordered) / 1e6,
        p99_ms=ordered[len(ordered) * 99 // 100] / 1e6,
        decisions_s=tally.decisions * 1e9 / max(1, tally.cpu_ns),
        preemptions=tally.preemptions / max(1, tally.changes),
        preemptions_max=tally.preemptions_max,
        lost=cluster.lost_share(),
        bytes_each=bytes_each,
    )


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * getpagesize()
