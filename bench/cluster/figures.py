"""Figures of a run of the whole system, and how they are printed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from statistics import mean

import msgspec

from bench.cluster.playing import Course, Play
from bench.cluster.processes import SERVICES, Share
from bench.cluster.sending import Rates
from bench.cluster.stages import Lag
from bench.virtual.loads import QUOTA_CPU, Load


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    config: str
    ledger: str  # sqlite or postgresql
    workloads: int
    finished: int
    gogc: str  # of API server, etcd and NATS; empty: as the control plane and Go have it
    raw: Rates
    bound_s: float  # that quota and arrivals set
    wall_s: float
    late_s: float  # by how much the benchmark itself fell behind the arrivals at worst
    used_share: float  # of all quota, mean while work was pending
    evictions: int
    waits_s: dict[str, float]  # mean time to admission, by size
    writes: dict[str, int]  # by others than the benchmark, by resource
    lags: tuple[Lag, ...]
    processes: dict[str, Share]

    @property
    def controllers_cpu_ms(self) -> float:
        """Return the CPU time of the services and of the bus for each workload."""
        parts = (*SERVICES, "nats-server")
        cpu_s = sum(self.processes[name].cpu_s for name in parts if name in self.processes)
        return 1e3 * cpu_s / max(self.finished, 1)

    @property
    def workloads_per_s(self) -> float:
        """Return the rate at which workloads were brought to their end."""
        return self.finished / self.wall_s

    @property
    def server_bound_s(self) -> float:
        """Return what API server and etcd take of all cores for three writes a workload.

        No controller needs fewer: a workload is created, admitted and finished.
        """
        each_ms = self.raw.create_cpu_ms + 2 * self.raw.patch_cpu_ms
        return self.workloads * each_ms / 1e3 / (os.cpu_count() or 1)

    @property
    def writes_per_workload(self) -> float:
        """Return how often the API server was written to for one workload."""
        return sum(self.writes.values()) / max(self.finished, 1)


def bound_s(load: Load) -> float:
    """Return how long a load takes at least: its work over all quota, or its last arrival's end."""
    by_quota = load.work_cpu_us / (load.queues * QUOTA_CPU) / 1e6
    by_arrival = max((kind.count - 1) * kind.every_us + kind.run_us for kind in load.kinds) / 1e6
    return max(by_quota, by_arrival)


def waits_s(load: Load, courses: Iterable[Course]) -> dict[str, float]:
    """Return the mean time from creation to admission of each size, in seconds."""
    by_kind: dict[str, list[float]] = {kind.name: [] for kind in load.kinds}
    for admitted in (course for course in courses if course.admitted_s >= 0):
        kind = admitted.arrival.name.partition("-")[0]
        by_kind[kind].append(max(admitted.admitted_s - admitted.created_s, 0.0))
    return {kind: mean(waits) for kind, waits in by_kind.items() if waits}


def used_share(play: Play) -> float:
    """Return the mean share of all quota that was in use while work was pending."""
    return mean(play.shares) if play.shares else 0.0


def lines(figures: Figures) -> Iterable[str]:
    """Yield the figures as lines for a person."""
    raw = figures.raw
    yield f"{figures.config}: {figures.workloads} workloads, ledger on {figures.ledger}"
    if figures.gogc:
        yield f"  Go collects at GOGC            {figures.gogc:>9}"
    if figures.finished < figures.workloads:
        yield f"  CUT SHORT: only this many ended{figures.finished:9d}"
    yield f"  raw creates                    {raw.creates_per_s:9.0f} /s"
    yield f"  raw status patches             {raw.patches_per_s:9.0f} /s"
    yield f"  CPU of the server for a create {raw.create_cpu_ms:9.2f} ms"
    yield f"  CPU of the server for a patch  {raw.patch_cpu_ms:9.2f} ms"
    yield f"  bound by the server's CPU      {figures.server_bound_s:9.1f} s"
    yield f"  bound by quota and arrivals    {figures.bound_s:9.1f} s"
    yield f"  wall time                      {figures.wall_s:9.1f} s"
    yield f"  over the bound                 {figures.wall_s / figures.bound_s:9.2f} x"
    yield f"  workloads                      {figures.workloads_per_s:9.1f} /s"
    yield f"  quota in use while pending     {100 * figures.used_share:9.1f} %"
    yield f"  evictions                      {figures.evictions:9d}"
    yield f"  arrivals late by at most       {figures.late_s:9.2f} s"
    yield f"  writes per workload            {figures.writes_per_workload:9.2f}"
    for resource, count in sorted(figures.writes.items(), key=lambda pair: -pair[1]):
        yield f"    {resource:<28} {count / max(figures.finished, 1):9.2f}"
    yield "  mean time to admission"
    for kind, wait_s in figures.waits_s.items():
        yield f"    {kind:<28} {wait_s:9.2f} s"
    yield "  lag of each stage                      p50        p99"
    for lag in figures.lags:
        yield f"    {lag.stage:<34} {lag.p50_ms:7.0f} ms {lag.p99_ms:7.0f} ms"
    if not figures.ledger.startswith("external"):
        yield f"  services and bus, a workload   {figures.controllers_cpu_ms:9.2f} ms"
    yield "  process                              CPU  a workload       peak"
    for name, share in sorted(figures.processes.items(), key=lambda pair: -pair[1].cpu_s):
        each_ms = 1e3 * share.cpu_s / max(figures.finished, 1)
        yield f"    {name:<30} {share.cpu_s:7.1f} s {each_ms:8.2f} ms {share.peak_mib:6.0f} MiB"
