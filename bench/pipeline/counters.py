"""What the processes have done by now: CPU time, memory, what they count, and what they wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import aiohttp
import psutil

from bench.cluster.processes import MIB, SERVICES, part_of

NATS, POSTGRES = "nats-server", "postgres"
PARTS = (*SERVICES, NATS, POSTGRES)
_SUMMED = {
    "turns": "tidegate_scheduler_turns_total",
    "observations": "tidegate_scheduler_observations_total",
    "entries": "tidegate_scheduler_entries_total",
}
_SAMPLE = re.compile(r"^(\w+)(?:\{.*\})? (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Counters:
    """Totals since the start; differences of two say what a phase took."""

    cpu_s: Mapping[str, float]  # by process
    rss_mib: Mapping[str, float]
    written: Mapping[str, int]  # write calls, by process
    counted: Mapping[str, float] = field(default_factory=dict)  # turns, observations, entries

    def since(self, before: Counters) -> Counters:
        """Return what came since; memory as it is now."""
        return Counters(
            cpu_s={name: value - before.cpu_s[name] for name, value in self.cpu_s.items()},
            rss_mib=self.rss_mib,
            written={name: value - before.written[name] for name, value in self.written.items()},
            counted={name: value - before.counted[name] for name, value in self.counted.items()},
        )


async def count(scheduler: str, *, begins: bool = False) -> Counters:
    """Read everything once; ``scheduler`` is the base URL of its metrics.

    To make its page of metrics costs the scheduler as much as tens of jobs, and belongs to no phase
    between two counts: the first of them ``begins`` it.
    """
    counted = await _read_metrics(scheduler) if begins else {}
    parts = processes()
    used = Counters(
        cpu_s={name: sum(map(_cpu_s, them)) for name, them in parts.items()},
        rss_mib={name: them[0].memory_info().rss / MIB for name, them in parts.items()},
        written={
            name: sum(process.io_counters().write_count for process in them)
            for name, them in parts.items()
        },
    )
    return replace(used, counted=counted or await _read_metrics(scheduler))


def processes() -> dict[str, list[psutil.Process]]:
    """Return the processes of each part; PostgreSQL has several, its first is the server."""
    processeses = dict[str, list[psutil.Process]]()
    for process in psutil.Process().children(recursive=True):
        part = POSTGRES if process.name().startswith(POSTGRES) else part_of(process)
        if part in PARTS:
            processeses.setdefault(part, []).append(process)
    return {part: processeses[part] for part in PARTS if part in processeses}


def _cpu_s(process: psutil.Process) -> float:
    """Return its CPU seconds with those of its children that have ended."""
    times = process.cpu_times()
    return times.user + times.system + times.children_user + times.children_system


async def _read_metrics(scheduler: str) -> dict[str, float]:
    async with aiohttp.ClientSession() as session, session.get(f"{scheduler}/metrics") as answer:
        text = await answer.text()
    samples = [(name, float(value)) for name, value in _SAMPLE.findall(text)]
    return {
        label: sum(value for sample, value in samples if sample == name)
        for label, name in _SUMMED.items()
    }
