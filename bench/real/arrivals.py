"""Arrivals of jobs: many sizes at random times, each a load with a name.

``heavy`` and ``poisson`` are memoryless arrivals, with heavy-tailed and with equal run times.
``bursts`` are sweeps of many jobs at once, ``diurnal`` has a working day and a quiet night.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import pi, sin
from random import Random

from bench.real.objects import GPU, MEMORY_PER_CPU, job_ref
from bench.virtual.loads import NAMESPACE
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.model.podset import Container, PodSet

SECOND_US = 1_000_000
RUN_S, RUN_S_MIN, RUN_S_MAX = 600, 20, 6 * 3_600
TAIL = 1.5
"""The shape of the tail of run times: their mean exists, their variance does not."""
DAY_S = 24 * 3_600
BURST = 12
PRIORITIES = (0, 0, 0, 0, 0, 0, 100, 100, 100, 1_000)
CPUS = (1, 1, 2, 2, 4, 4, 8, 16)
KINDS = ("gpu", "workers", "plain", "plain", "plain")
"""A fifth of the jobs asks for GPUs, a fifth has a driver and workers."""


@dataclass(frozen=True, slots=True)
class Job:
    """A Job that is submitted, and how long it runs once it is started."""

    asked: WorkloadSubmitted
    run_us: int
    cpu: int  # milli-CPU of all its pods; a GPU counts as ten CPUs

    @property
    def at_us(self) -> int:
        """Return when it is submitted."""
        return self.asked.at_us


def mean_work() -> float:
    """Return the mean of cpu times seconds of a job, by drawing some."""
    rng = Random(1)
    drawn = [_job(rng, number, 1, 0, _heavy_s(rng)) for number in range(4_000)]
    return sum(job.cpu * job.run_us for job in drawn) / len(drawn) / SECOND_US


def jobs(name: str, queues: int, a_second: float, seed: int) -> Iterator[Job]:
    """Yield the jobs of a load for ever, by time; ``a_second``: how many on average."""
    rng = Random(f"{name}/{seed}")
    run_s = _equal_s if name == "poisson" else _heavy_s
    for number, at_s in enumerate(TIMES[name](rng, a_second)):
        yield _job(rng, number, queues, int(at_s * SECOND_US), run_s(rng))


def _memoryless(rng: Random, a_second: float) -> Iterator[float]:
    at_s = 0.0
    while True:
        at_s += rng.expovariate(a_second)
        yield at_s


def _bursts(rng: Random, a_second: float) -> Iterator[float]:
    for at_s in _memoryless(rng, a_second / BURST):
        yield from [at_s] * rng.randint(1, 2 * BURST - 1)


def _diurnal(rng: Random, a_second: float) -> Iterator[float]:
    """Thin out arrivals at twice the rate by the time of day; none at all comes at midnight."""
    for at_s in _memoryless(rng, 2 * a_second):
        if rng.random() < (1 - sin(2 * pi * at_s / DAY_S + pi / 2)) / 2:
            yield at_s


TIMES: dict[str, Callable[[Random, float], Iterator[float]]] = {
    "heavy": _memoryless,
    "poisson": _memoryless,
    "bursts": _bursts,
    "diurnal": _diurnal,
}
"""How arrivals are spread over time, by the load's name."""


def _equal_s(rng: Random) -> float:
    return rng.uniform(RUN_S * 0.5, RUN_S * 1.5)


def _heavy_s(rng: Random) -> float:
    return min(RUN_S_MAX, max(RUN_S_MIN, RUN_S / 3 * rng.paretovariate(TAIL)))


def _job(rng: Random, number: int, queues: int, at_us: int, run_s: float) -> Job:
    podsets, cpu = _podsets(rng)
    name = f"job-{number:07}"
    workload_submitted = WorkloadSubmitted(
        at_us=at_us,
        workload=f"{NAMESPACE}/{name}",
        uid=name,
        job=job_ref(name),
        queue=f"lq-{_popular(rng, queues)}",
        priority=rng.choice(PRIORITIES),
        created_us=at_us,
        podsets=podsets,
    )
    return Job(workload_submitted, int(run_s * SECOND_US), cpu)


def _popular(rng: Random, queues: int) -> int:
    """Return a queue's index: half of the jobs go to a quarter of the queues."""
    return rng.randrange(rng.choice((max(1, queues // 4), queues)))


def _podsets(rng: Random) -> tuple[tuple[PodSet, ...], int]:
    """Return a driver with workers, one pod with a GPU, or some equal pods; and their CPUs."""
    pod_milli = rng.choice(CPUS) * 1_000 + rng.randrange(0, 1_000, 50)
    kind = rng.choice(KINDS)
    if kind == "gpu":
        gpus = rng.choice((1, 1, 1, 2, 4))
        return (_podset("main", 1, pod_milli, gpus),), pod_milli + gpus * 10_000
    if kind == "workers":
        workers = rng.randint(1, 4)
        podsets = _podset("driver", 1, 1_000), _podset("workers", workers, pod_milli)
        return podsets, 1_000 + workers * pod_milli
    pods = rng.choice((1, 1, 1, 2, 4))
    return (_podset("main", pods, pod_milli),), pods * pod_milli


def _podset(name: str, pods: int, milli: int, gpus: int = 0) -> PodSet:
    requests = {"cpu": f"{milli}m", "memory": str(milli * MEMORY_PER_CPU // 1_000)}
    if gpus:
        requests[GPU] = str(gpus)
    return PodSet(name=name, count=pods, containers=(Container(requests=requests),))
