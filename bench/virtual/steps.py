"""The cost of one step, a finish and a submission, in a cluster that is full.

What it should not depend on is how many workloads wait.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from statistics import median, quantiles
from time import process_time_ns

from bench.virtual.driving import Cluster
from bench.virtual.loads import QUOTA_CPU, Arrival, beginning, flat_queues, tree_queues
from tidegate.contracts.facts import FactEvent

SHAPES_CPU = (1, 2, 3, 5, 8)
FOREVER_US = 10**15
TREES, DEPTH, BRANCHING = 2, 5, 6
_UNBOUNDED = 10**12


@dataclass(frozen=True)
class StepCost:
    """What steps cost in one cluster, in microseconds of CPU."""

    queues: int
    pending: int
    median_us: float
    p95_us: float
    worst_us: float


def measure_deep(mode: str, queues: int, pending: int, steps: int) -> StepCost:
    """Measure cohort trees of depth 5 and branching 6 with weights, under fair sharing."""
    objects = tree_queues(queues, TREES, DEPTH, BRANCHING)
    return _measure(_cluster(mode, objects, fair=True), queues, pending, steps)


def measure_flat(mode: str, queues: int, pending: int, steps: int) -> StepCost:
    """Measure flat cohorts of ten queues, classic."""
    each = min(10, queues)
    objects = flat_queues(queues // each, each)
    return _measure(_cluster(mode, objects, fair=False), queues, pending, steps)


def _cluster(mode: str, objects: Iterable[FactEvent], *, fair: bool) -> Cluster:
    cluster = Cluster()
    cluster.fold(beginning(mode, fair=fair))
    cluster.fold(list(objects))
    return cluster


def _measure(cluster: Cluster, queues: int, pending: int, steps: int) -> StepCost:
    rng = Random(queues)
    number = _fill(cluster, rng, queues, pending)
    costs_us: list[float] = []
    for step in range(steps):
        cluster.now_us += 1_000
        ending = rng.choice(sorted(cluster.running))
        job = _job(rng, number + step, queues, cluster.now_us)
        began_ns = process_time_ns()
        cluster.finish(ending)
        cluster.arrive(job)
        cluster.decide(_UNBOUNDED)
        costs_us.append((process_time_ns() - began_ns) / 1_000)
    p95 = quantiles(costs_us, n=20)[-1]
    return StepCost(queues, pending, median(costs_us), p95, max(costs_us))


def _fill(cluster: Cluster, rng: Random, queues: int, pending: int) -> int:
    """Submit until the quota is taken and so many wait; return how many were submitted."""
    average_cpu = sum(SHAPES_CPU) / len(SHAPES_CPU)
    count = int(queues * QUOTA_CPU / average_cpu) + pending
    for number in range(count):
        cluster.arrive(_job(rng, number, queues, 0))
        if number % 10_000 == 0:
            sys.stderr.write(f"\r{queues} queues, {pending} pending: {number}/{count} submitted")
    cluster.decide(_UNBOUNDED)
    sys.stderr.write(f"\r{queues} queues: {len(cluster.jobs) - len(cluster.running)} wait\n")
    return count


def _job(rng: Random, number: int, queues: int, at_us: int) -> Arrival:
    return Arrival(
        at_us=at_us,
        name=f"job-{number:07}",
        queue=rng.randrange(queues),
        cpu=rng.choice(SHAPES_CPU),
        priority=100,
        run_us=FOREVER_US,
    )
