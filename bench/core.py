"""Measure the core in virtual time: ``python -m bench.core [--config baseline|large|deep|memory]``.

``--config real [--queues N --pending M] [--fair]`` measures steps in a cluster as users have it.

Each measurement runs in a process of its own, so that its CPU time and memory are its own.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import TypeVar

from bench.real.steps import RealFigures, measure, median_figures
from bench.virtual import memory
from bench.virtual.driving import Tally, drive
from bench.virtual.loads import BASELINE, LARGE, QUOTA_CPU, Load
from bench.virtual.steps import StepCost, measure_deep, measure_flat
from tidegate.service.loop import tune_garbage_collection

DEEP_QUEUES, DEEP_PENDING = 2_000, (10_000, 30_000, 100_000)
CYCLE_QUEUES, CYCLE_PENDING = (10, 100, 1_000), (1_000, 10_000, 100_000)
STEPS = 200
CONFIGS = ("baseline", "large", "deep", "cycle", "memory", "real")
REAL_QUEUES, REAL_PENDING, REAL_RUNS = 20, 300, 3
_Result = TypeVar("_Result")
MEMORY_QUEUES, MEMORY_PENDING, MEMORY_ADMITTED = 1_000, (100_000, 1_000_000), (100_000,)


@dataclass(frozen=True)
class Figures:
    """One line of the report; a load's, or a step's in a full cluster."""

    config: str
    variant: str
    peak_mib: float
    tally: Tally | None = None
    step: StepCost | None = None
    load: Load | None = None
    footprint: memory.Footprint | None = None


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for and print it; return 0."""
    options = _parser().parse_args(arguments)
    if options.config == "real":
        print(_real_figures(options).line(), flush=True)
        return 0
    figureses: list[Figures] = []
    for each in _measurements(options):
        figureses.append(_measure_in_process(each))
        print(_line(figureses[-1]), flush=True)
    if options.json:
        options.json.write_text(
            json.dumps([asdict(figures) for figures in figureses], indent=1) + "\n"
        )
    return 0


def load_figures(  # noqa: PLR0913 - each is one dimension of the measurement
    load: Load, mode: str, *, fair: bool, staggered: bool, cpu_s_max: float, digest: bool
) -> Figures:
    """Measure one load."""
    tally = drive(load, mode, fair=fair, staggered=staggered, cpu_s_max=cpu_s_max, digest=digest)
    sharing = "fair" if fair else "classic"
    variant = f"{sharing}, {'staggered' if staggered else 'in step'}"
    return Figures(load.name, variant, _peak_mib(), tally=tally, load=load)


def deep_figures(mode: str, pending: int) -> Figures:
    """Measure a step in deep trees."""
    cost = measure_deep(mode, DEEP_QUEUES, pending, STEPS)
    return Figures("deep", "fair", _peak_mib(), step=cost)


def cycle_figures(mode: str, queues: int, pending: int) -> Figures:
    """Measure a step in flat cohorts."""
    cost = measure_flat(mode, queues, pending, STEPS)
    return Figures("cycle", "classic", _peak_mib(), step=cost)


def pending_figures(workloads: int) -> Figures:
    """Measure what waiting workloads take."""
    footprint = memory.measure_pending(MEMORY_QUEUES, workloads)
    return Figures("memory", "pending", _peak_mib(), footprint=footprint)


def admitted_figures(workloads: int) -> Figures:
    """Measure what workloads that hold quota take."""
    footprint = memory.measure_admitted(MEMORY_QUEUES, workloads)
    return Figures("memory", "admitted", _peak_mib(), footprint=footprint)


def _real_figures(options: Namespace) -> RealFigures:
    """Return the medians of three runs, each with a seed of its own."""
    runs = list[RealFigures]()
    for seed in range(REAL_RUNS):
        run = partial(
            measure,
            options.queues,
            options.pending,
            options.mode,
            fair=options.fair,
            seed=seed,
            cpu_s_max=60 * options.minutes,
        )
        runs.append(_measure_in_process(run))
        print(f"run {seed + 1} of {REAL_RUNS}: {runs[-1].line()}", file=sys.stderr, flush=True)
    return median_figures(runs)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m bench.core", description=__doc__)
    parser.add_argument("--config", choices=CONFIGS)
    parser.add_argument("--sharing", choices=("classic", "fair"))
    parser.add_argument("--arrivals", choices=("step", "staggered"))
    parser.add_argument("--mode", choices=("kueue", "tidegate"), default="tidegate")
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="CPU minutes for each load at most; 0: no bound"
    )
    parser.add_argument(
        "--digest", action="store_true", help="print a digest of the decisions; costs time"
    )
    parser.add_argument("--queues", type=int, default=REAL_QUEUES, help="ClusterQueues of real")
    parser.add_argument(
        "--pending", type=int, default=REAL_PENDING, help="pending workloads of real"
    )
    parser.add_argument("--fair", action="store_true", help="real: with fair sharing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser


def _measurements(options: Namespace) -> Iterator[Callable[[], Figures]]:
    for load in (BASELINE, LARGE):
        if options.config in {None, load.name}:
            yield from _load_measurements(load, options)
    if options.config in {None, "deep"}:
        yield from (partial(deep_figures, options.mode, pending) for pending in DEEP_PENDING)
    if options.config in {None, "cycle"}:
        for queues in CYCLE_QUEUES:
            yield from (partial(cycle_figures, options.mode, queues, n) for n in CYCLE_PENDING)
    if options.config in {None, "memory"}:
        yield from (partial(pending_figures, workloads) for workloads in MEMORY_PENDING)
        yield from (partial(admitted_figures, workloads) for workloads in MEMORY_ADMITTED)


def _load_measurements(load: Load, options: Namespace) -> Iterator[Callable[[], Figures]]:
    for sharing in ("classic", "fair"):
        for arrivals in ("step", "staggered"):
            if options.sharing in {None, sharing} and options.arrivals in {None, arrivals}:
                yield partial(
                    load_figures,
                    load,
                    options.mode,
                    fair=sharing == "fair",
                    staggered=arrivals == "staggered",
                    cpu_s_max=60 * options.minutes,
                    digest=options.digest,
                )


def _measure_in_process(measured: Callable[[], _Result]) -> _Result:
    """Measure in a process of its own, which collects garbage as often as a service does."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=tune_garbage_collection) as pool:
        return pool.submit(measured).result()


def _peak_mib() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / 1_024


def _line(figures: Figures) -> str:
    if figures.tally is not None and figures.load is not None:
        digest = f", decisions {figures.tally.digests[-1]}" if figures.tally.digests else ""
        load = _load_text(figures.tally, figures.load)
        return f"{figures.config}, {figures.variant}: {load}, {_mib(figures)}{digest}"
    if figures.footprint is not None:
        footprint = figures.footprint
        return (
            f"{figures.config}, {figures.variant}: {footprint.workloads} workloads in "
            f"{footprint.queues} queues, "
            f"{footprint.admitted} with quota: {footprint.each:.0f} bytes each, {_mib(figures)}"
        )
    assert figures.step is not None
    cost = figures.step
    return (
        f"{figures.config}, {figures.variant}: {cost.queues} queues, {cost.pending} pending: a "
        "step takes "
        f"{cost.median_us / 1e3:.2f} ms (p95 {cost.p95_us / 1e3:.2f}, worst "
        f"{cost.worst_us / 1e3:.2f}), {_mib(figures)}"
    )


def _mib(figures: Figures) -> str:
    return f"{figures.peak_mib:.0f} MiB"


def _load_text(tally: Tally, load: Load) -> str:
    if not tally.settled:
        return f"never settles at {tally.makespan_us / 1e6:.1f} s ({tally.decisions} decisions)"
    quota_cpu_us = load.queues * QUOTA_CPU * tally.makespan_us
    bound_us = load.work_cpu_us / (load.queues * QUOTA_CPU)
    events = tally.facts + tally.decisions
    if tally.cut:
        return (
            f"not at its end after {tally.cpu_s:.0f} s CPU: {tally.finished} of {load.count} "
            f"workloads finished in {tally.makespan_us / 1e6:.1f} s, "
            f"{tally.decisions / tally.cpu_s:.0f} decisions/s, {tally.preemptions} preemptions, "
            f"{tally.lost_cpu_us / quota_cpu_us:.2%} lost"
        )
    return (
        f"{tally.cpu_s:.2f} s CPU, {tally.decisions / tally.cpu_s:.0f} decisions/s, "
        f"{events / tally.cpu_s:.0f} events/s, makespan {tally.makespan_us / 1e6:.2f} s "
        f"(bound {bound_us / 1e6:.1f} s), quota in use {tally.used_cpu_us / quota_cpu_us:.1%}, "
        f"{tally.preemptions} preemptions, {tally.lost_cpu_us / quota_cpu_us:.2%} lost"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
