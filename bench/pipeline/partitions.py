"""Services of further partitions beside an instance, and what each partition costs."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from bench.pipeline.figures import Phase
from tidegate.cluster.running import RunningServices, wait_ready
from tidegate.cluster.supervisor import Program
from tidegate.ports import free_ports

QUEUES = 24
"""Four cohorts of six: the same number for each of one, two and four partitions."""
PER_PARTITION = ("scheduler", "actuator")
CALCULATED = (1, 2, 4, 8)


@asynccontextmanager
async def run_partitions(running: RunningServices, count: int) -> AsyncGenerator[None]:
    """Run the services of partitions 1 to below ``count``, ready; the instance ends them."""
    for number in range(1, count):
        ports = dict(zip(PER_PARTITION, free_ports(len(PER_PARTITION)), strict=True))
        for service, port in ports.items():
            await running.supervisor.start(_program(running, service, number, port))
        health = {
            f"{service}-{number}": f"http://127.0.0.1:{port}" for service, port in ports.items()
        }
        await wait_ready(replace(running, health=health))
    yield


def _program(running: RunningServices, service: str, number: int, port: int) -> Program:
    name = f"{service}-{number}"
    environment = {
        **os.environ,
        "TIDEGATE_NATS_URL": running.nats_url,
        "TIDEGATE_LEDGER": running.ledger,
        "TIDEGATE_KUBECONFIG": str(running.kubeconfig),
        "TIDEGATE_PARTITION": str(number),
        "TIDEGATE_HEALTH_PORT": str(port),
        "TIDEGATE_HOLDER_FILE": str((running.logs.parent / f"{name}.holder").resolve()),
        "TIDEGATE_LOG_FORMAT": "json",
    }
    return Program(
        name=name,
        command=[sys.executable, "-m", service],
        environment=environment,
        log=running.logs / f"{name}.log",
    )


def lines(phases: Sequence[Phase], counts: Sequence[int]) -> Iterator[str]:
    """Yield what a partition costs the others, and what that comes to with a core for each.

    A Job costs its own partition's scheduler and actuator what it does where there is one alone,
    and those of each other partition what passing it by costs: the rest, divided by how many.
    """
    if 1 not in counts or max(counts) == 1:  # rates were played instead, or nothing to compare
        return
    alone = phases[counts.index(1)]
    others = [(phase, count) for phase, count in zip(phases, counts, strict=True) if count > 1]
    most, count = others[-1]
    yield f"| CPU ms a Job | in its own partition | in each other one, by {count} partitions |"
    yield "| --- | --: | --: |"
    passing = dict[str, float]()
    for service in PER_PARTITION:
        own = alone.cpu_ms[service]
        passing[service] = max(0.0, most.cpu_ms[service] - own) / (count - 1)
        yield f"| {service} | {own:.3g} | {passing[service]:.3g} |"
    yield ""
    yield "| partitions, a core for each process (calculated) | Jobs/s | the limit |"
    yield "| --: | --: | --- |"
    for number in CALCULATED:
        rates = {
            service: 1e3
            / (alone.cpu_ms[service] / number + passing[service] * (number - 1) / number)
            for service in PER_PARTITION
        }
        rates["ingest"] = 1e3 / alone.cpu_ms["ingest"]
        slowest = min(rates, key=rates.__getitem__)
        yield f"| {number} | {rates[slowest]:.0f} | {slowest} |"
    yield ""
