"""CPU time and memory of every process that takes part, sampled while they live."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import psutil

EVERY_S = 0.5
MIB = 1 << 20
SERVICES = ("ingest", "scheduler", "actuator")
OTHERS = (
    "kube-apiserver",
    "etcd",
    "kube-controller-manager",
    "kube-scheduler",
    "nats-server",
)


@dataclass
class Share:
    """What one process took."""

    cpu_s: float = 0.0
    peak_mib: float = 0.0


@dataclass
class Processes:
    """Everything that descends from this process, by its part in the system."""

    shares: dict[str, Share] = field(default_factory=dict)
    _seen: dict[int, tuple[str, float, float]] = field(default_factory=dict)

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            self.sample()
            await asyncio.sleep(EVERY_S)

    def sample(self) -> None:
        """Read every process once; what a process took before the first time does not count."""
        me = psutil.Process()
        for process in (me, *me.children(recursive=True)):
            try:
                self._add_sample(process)
            except psutil.NoSuchProcess:
                continue

    def _add_sample(self, process: psutil.Process) -> None:
        with process.oneshot():
            times, memory = process.cpu_times(), process.memory_info().rss / MIB
            cpu_s = times.user + times.system
            previous = self._seen.get(process.pid)
            name = previous[0] if previous else part_of(process)
        before_s = previous[1] if previous else cpu_s
        self._seen[process.pid] = (name, cpu_s, memory)
        share = self.shares.setdefault(name, Share())
        share.cpu_s += cpu_s - before_s
        share.peak_mib = max(share.peak_mib, memory)


def part_of(process: psutil.Process) -> str:
    """Return which part of the system a process is."""
    if process.pid == psutil.Process().pid:
        return "this benchmark"
    command = process.cmdline()
    for service in SERVICES:
        if command[-2:] == ["-m", service]:
            return service
    program = command[0].rpartition("/")[2] if command else process.name()
    return program if program in OTHERS else "nodes and the rest"
