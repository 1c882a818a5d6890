"""Measure from the decision's row to the running job: ``python -m bench.latency [--jobs 500]``.

A real control plane, the three services as they are deployed, and one observer in this process. It
polls the ledger for rows of StartOrdered and watches the API server for ``suspend: false``; the
difference is what the bus, the actuator and the API server took. The same run first measures how
many unsuspending patches a second the API server takes from one client, which is the limit of any
burst: ``--burst`` lets all Jobs be admitted at one instant and shows just that.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles

import msgspec

from bench.cluster.objects import KUEUE, namespace
from bench.cluster.sending import CLIENTS, run_all, send
from bench.latency.submitting import create_job, jobs_path, make_queues, submit
from tidegate.cluster.go.building import build
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.install import apply, install, manifests_folder
from tidegate.cluster.running import RunOptions, run_services
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi

POLL_S = 0.002


@dataclass(frozen=True)
class Figures:
    """What one run gave."""

    jobs: int
    burst: bool
    rate: float  # Jobs a second that are submitted; 0: one after another
    raw_patches_per_s: float
    arrivals_per_s: float  # StartOrdered rows, from the first to the last
    median_ms: float
    p90_ms: float
    p99_ms: float
    most_ms: float


@dataclass
class ObservedTimes:
    """When each job's decision and its effect were seen, by uid; seconds of one clock."""

    ordered: dict[str, float] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)

    past: set[str] = field(default_factory=set)  # of these nothing is noted any more

    def clear(self) -> None:
        """Begin anew."""
        self.past |= self.ordered.keys() | self.running.keys()
        self.ordered, self.running = {}, {}

    def record(self, times: dict[str, float], uid: str) -> None:
        """Note when a job was first seen like this."""
        if uid not in self.past:
            times.setdefault(uid, time.perf_counter())


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return 0."""
    options = _parser().parse_args(arguments)
    figures = asyncio.run(measure(options))
    print(report(figures))
    if options.json:
        options.json.write_text(json.dumps(asdict(figures), indent=1) + "\n")
    return 0


async def measure(options: Namespace) -> Figures:
    """Run everything once, on a control plane of its own unless one is given."""
    with tempfile.TemporaryDirectory(prefix="tidegate-latency-") as folder:
        async with _kubeconfig(options, Path(folder)) as kubeconfig:
            access = Access(kubeconfig=str(kubeconfig), connections_max=2 * CLIENTS)
            async with connect(access) as api:
                await install(api, manifests_folder(), _print_progress)
                raw = await raw_rate(api, options.jobs)
                await make_queues(api, on_hold=options.burst)
                settings = RunOptions(state=Path(folder) / "instance", kubeconfig=kubeconfig)
                async with run_services(settings, _print_progress) as running:
                    times = await submit_and_see(api, running.ledger, options)
        return _figures(options, raw, times)


async def raw_rate(api: KubernetesApi, jobs: int) -> float:
    """Return how many Jobs a second can be unsuspended by a client that does nothing else."""
    _print_progress(f"measuring the raw rate of patches with {jobs} Jobs")
    await apply(api, namespace("raw"))
    names = [f"raw-{number}" for number in range(jobs)]
    await run_all(create_job(api, "raw", name, queue="") for name in names)
    patch = msgspec.json.encode({"spec": {"suspend": False}})
    began = time.perf_counter()
    await run_all(send(api, "PATCH", f"{jobs_path('raw')}/{name}", patch) for name in names)
    rate = jobs / (time.perf_counter() - began)
    await send(api, "DELETE", "/api/v1/namespaces/raw")
    await send(api, "DELETE", jobs_path("raw"), b'{"propagationPolicy": "Background"}')
    await _wait_until_collected(api)
    return rate


async def submit_and_see(api: KubernetesApi, ledger: str, options: Namespace) -> ObservedTimes:
    """Submit the Jobs and return when each was decided and unsuspended, once a first one was."""
    times = ObservedTimes()
    async with asyncio.timeout(options.timeout_s), asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(_watch_orders(ledger.removeprefix("sqlite:///"), times))
        watching = tasks.create_task(_watch_running(api, times))
        if not options.burst:  # the first order waits until an actuator has its lease
            await create_job(api, "bench", "first", queue="main")
            await _wait_until_running(times, 1)
            times.clear()
        _print_progress(f"submitting {options.jobs} Jobs")
        await submit(api, options.jobs, options.rate)
        if options.burst:
            await asyncio.sleep(5)  # every one of them is queued by then
            path = f"/apis/{KUEUE}/clusterqueues/bench"
            await send(api, "PATCH", path, b'{"spec": {"stopPolicy": "None"}}')
        await _wait_until_running(times, options.jobs)
        for task in (polling, watching):
            task.cancel()
    return times


async def _wait_until_running(times: ObservedTimes, jobs: int) -> None:
    while min(len(times.running), len(times.ordered)) < jobs:
        await asyncio.sleep(0.05)


def report(figures: Figures) -> str:
    """Return the figures as lines for a person."""
    how = f"{figures.rate:g} submitted a second" if figures.rate else "submitted one after another"
    how = "all admitted at one instant" if figures.burst else how
    return "\n".join(
        (
            f"{figures.jobs} Jobs, {how}",
            f"  raw rate of unsuspending patches  {figures.raw_patches_per_s:8.1f} /s",
            f"  decisions                         {figures.arrivals_per_s:8.1f} /s",
            "  from the decision's row to suspend: false",
            f"    median {figures.median_ms:8.1f} ms",
            f"    p90    {figures.p90_ms:8.1f} ms",
            f"    p99    {figures.p99_ms:8.1f} ms",
            f"    most   {figures.most_ms:8.1f} ms",
        )
    )


async def _watch_orders(ledger: str, times: ObservedTimes) -> None:
    """Note when a row of StartOrdered can first be read: it is committed then."""
    connection = sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)
    query = "SELECT seq, payload FROM ledger_event WHERE type = 'StartOrdered' AND seq > ?"
    at = 0
    try:
        while True:
            with suppress(sqlite3.OperationalError):  # its tables are being made
                for seq, payload in connection.execute(query, (at,)).fetchall():
                    at = max(at, seq)
                    uid = json.loads(payload)["job"]["uid"]
                    times.record(times.ordered, uid)
            await asyncio.sleep(POLL_S)
    finally:
        connection.close()


async def _watch_running(api: KubernetesApi, times: ObservedTimes) -> None:
    """Note when the API server first tells that a Job is not suspended."""
    async with api.watch(jobs_path("bench"), {"timeoutSeconds": "3600"}) as lines:
        async for line in lines:
            obj = msgspec.json.decode(line)["object"]
            if obj.get("kind") == "Job" and not obj["spec"].get("suspend"):
                times.record(times.running, obj["metadata"]["uid"])


def _figures(options: Namespace, raw: float, times: ObservedTimes) -> Figures:
    waits = [1_000 * (times.running[uid] - at) for uid, at in times.ordered.items()]
    cuts = quantiles(waits, n=100)
    began, ended = min(times.ordered.values()), max(times.ordered.values())
    return Figures(
        jobs=options.jobs,
        burst=options.burst,
        rate=options.rate,
        raw_patches_per_s=raw,
        arrivals_per_s=options.jobs / max(ended - began, POLL_S),
        median_ms=median(waits),
        p90_ms=cuts[89],
        p99_ms=cuts[98],
        most_ms=max(waits),
    )


@asynccontextmanager
async def _kubeconfig(options: Namespace, folder: Path) -> AsyncGenerator[Path]:
    if options.kubeconfig:
        yield options.kubeconfig
        return
    binaries = build(lambda step, done, total: _print_progress(f"{step} {done} of {total}"))
    plane = ControlPlane(folder / "control-plane", binaries, nodes_count=1)
    await asyncio.to_thread(plane.up, _print_progress)
    try:
        yield plane.kubeconfig
    finally:
        await asyncio.to_thread(plane.remove)


async def _wait_until_collected(api: KubernetesApi) -> None:
    """Wait until the collector is through with the Jobs of the raw rate and their Pods."""
    with suppress(TimeoutError):
        async with asyncio.timeout(120):
            while True:
                answer = await api.request("GET", "/api/v1/namespaces/raw")
                if answer.status == 404:  # noqa: PLR2004 - not found
                    return
                await asyncio.sleep(0.5)


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m bench.latency", description=__doc__)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--burst", action="store_true", help="admit them all at one instant")
    parser.add_argument(
        "--rate", type=float, default=0.0, help="Jobs to submit a second; 0: one after another"
    )
    parser.add_argument("--kubeconfig", type=Path, help="an existing cluster; else its own")
    parser.add_argument("--timeout-s", type=float, default=600.0)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
