"""Measure the whole system: ``python -m bench.cluster [--config baseline|large|jobs|tas|runner]``.

A real API server and etcd, NATS, a ledger and the three services as they are deployed, and this
process, which submits the load as time passes and plays its running. Everything shares the machine,
so the raw rates of the API server in the same run, and the bound that quota and arrivals set, stand
beside the figures. ``--config runner`` is the baseline as Kueue's own performance runner plays it.
``--external`` leaves Tidegate out: the cluster of ``--kubeconfig`` has a
controller that speaks kueue.x-k8s.io, with its CRDs.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from bench.cluster import objects, placed, sending
from bench.cluster.figures import Figures, bound_s, lines, used_share, waits_s
from bench.cluster.playing import Play
from bench.cluster.processes import Processes
from bench.cluster.runner import RunnerPlay
from bench.cluster.stages import lags
from bench.virtual.loads import BASELINE, LARGE, NAMESPACE, QUOTA_CPU, Kind, Load
from tidegate.cluster.go.building import build
from tidegate.cluster.go.plane import NODES_COUNT, ControlPlane
from tidegate.cluster.install import apply, install, manifests_folder
from tidegate.cluster.running import SERVICES, RunOptions, run_services
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi
from tidegate.service.loop import loop_factory

MS = 1_000
JOBS = Load(
    "jobs",
    cohorts=2,
    queues_each=3,
    kinds=(
        Kind("small", 1, 50, count=70, every_us=500 * MS, run_us=1_000 * MS),
        Kind("medium", 5, 100, count=20, every_us=2_000 * MS, run_us=2_000 * MS),
        Kind("large", 20, 200, count=10, every_us=4_000 * MS, run_us=3_000 * MS),
    ),
)
NODES = JOBS.queues * QUOTA_CPU // objects.POD_CPU_MAX
"""As many as take all pods of Jobs that quota lets start, though each takes one of the largest."""
PLACED = replace(BASELINE, name="tas")
"""Of the same quotas, arrivals and run times; see ``bench.cluster.placed``."""
LOADS = {
    "baseline": BASELINE,
    "large": LARGE,
    "jobs": JOBS,
    "tas": PLACED,
    "runner": replace(BASELINE, name="runner"),
}
MADE = {"jobs": objects.job, "tas": placed.workload}
"""What of another configuration is made of an arrival than a Workload of one pod."""


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return 0."""
    options = _parser().parse_args(arguments)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:  # its own CPU time counts too
        figures = runner.run(measure(options))
    print("\n".join(lines(figures)))
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
    return 0


async def measure(options: Namespace) -> Figures:
    """Run a load once, on a control plane of its own unless one is given."""
    load = _part_of_load(LOADS[options.config], options.part)
    if options.gogc:
        os.environ["GOGC"] = options.gogc  # read by what is started from here
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        async with _control_plane(options, Path(folder)) as plane:
            kubeconfig = options.kubeconfig if plane is None else plane.kubeconfig
            access = Access(kubeconfig=str(kubeconfig), connections_max=3 * sending.CLIENTS)
            async with connect(access) as api:
                if options.config == "tas":
                    _print_progress("making nodes")
                    await placed.make_nodes(api, plane)
                return await _measure_on(api, load, options, kubeconfig, Path(folder))


async def _measure_on(
    api: KubernetesApi, load: Load, options: Namespace, kubeconfig: Path, folder: Path
) -> Figures:
    if not options.external:
        await install(api, manifests_folder(), _print_progress)
    _print_progress("measuring the raw rates")
    raw = await sending.raw_rates(api, options.raw)
    await apply(api, objects.namespace(NAMESPACE))
    flavor = placed.flavor_spec() if options.config == "tas" else {}
    about = [placed.topology()] if flavor else []
    for obj in (*about, *objects.queues(load, flavor), *objects.priority_classes(load)):
        await apply(api, obj)
    settings = RunOptions(
        state=folder / "instance",
        kubeconfig=kubeconfig,
        ledger=options.ledger,
        config=str(options.configuration or ""),
        services=() if options.external else SERVICES,
    )
    async with run_services(settings, _print_progress) as running:
        ledger = "" if options.external else running.ledger
        return await _play_load(api, load, options, raw, ledger)


async def _play_load(
    api: KubernetesApi, load: Load, options: Namespace, raw: sending.Rates, ledger: str
) -> Figures:
    make = MADE.get(options.config, objects.workload)
    how = RunnerPlay if options.config == "runner" else Play
    play = how(api, load, make, jobs=options.config == "jobs", external=options.external)
    processes = Processes()
    processes.sample()
    before, began_us = await sending.write_counts(api), time.time_ns() // 1_000
    wall_s = 0.0
    with suppress(TimeoutError):  # then the figures say how far it came
        async with asyncio.timeout(options.timeout_s), asyncio.TaskGroup() as tasks:
            sampling = tasks.create_task(processes.run())
            wall_s = await play.run(_print_progress)
            sampling.cancel()
    processes.sample()
    written = await sending.write_counts(api)
    others = {name: count - before.get(name, 0) for name, count in written.items()}
    _subtract_own_writes(others, play)
    return Figures(
        config=load.name,
        ledger=(ledger or "external").partition(":")[0].partition("+")[0],
        workloads=load.count,
        raw=raw,
        finished=play.finished,
        gogc=options.gogc,
        bound_s=bound_s(load),
        wall_s=wall_s or options.timeout_s,
        late_s=play.late_s,
        used_share=used_share(play),
        evictions=play.evictions,
        waits_s=waits_s(load, play.courses.values()),
        writes={name: count for name, count in others.items() if count > 0},
        lags=tuple(lags(ledger, play.courses, began_us)) if ledger else (),
        processes=processes.shares,
    )


def _subtract_own_writes(writes: dict[str, int], play: Play) -> None:
    """Take off what this process wrote itself."""
    created = sum(course.created_s >= 0 for course in play.courses.values())
    if play.jobs:
        writes["jobs"] = writes.get("jobs", 0) - created
        return
    writes["workloads"] = writes.get("workloads", 0) - created
    own = play.finished + play.released
    writes["workloads/status"] = writes.get("workloads/status", 0) - own


def _part_of_load(load: Load, part: int) -> Load:
    """Return a load of a part of the arrivals of each size, to try things on."""
    kinds = tuple(replace(kind, count=max(kind.count // part, 1)) for kind in load.kinds)
    return replace(load, kinds=kinds)


@asynccontextmanager
async def _control_plane(options: Namespace, folder: Path) -> AsyncGenerator[ControlPlane | None]:
    """Lend a control plane of its own; None: one is given."""
    if options.kubeconfig:
        yield None
        return
    binaries = build(lambda step, done, total: _print_progress(f"{step} {done} of {total}"))
    nodes = NODES if options.config == "jobs" else NODES_COUNT  # nothing else has pods
    plane = ControlPlane(folder / "control-plane", binaries, nodes_count=nodes)
    await asyncio.to_thread(plane.up, _print_progress)
    try:
        yield plane
    finally:
        await asyncio.to_thread(plane.remove)


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--config", choices=LOADS, default="baseline")
    parser.add_argument("--ledger", default="", help="URL of the ledger; SQLite in a file")
    parser.add_argument("--configuration", type=Path, help="Kueue's Configuration file")
    parser.add_argument("--kubeconfig", type=Path, help="an existing cluster; else its own")
    parser.add_argument("--external", action="store_true", help="another controller is measured")
    parser.add_argument("--part", type=int, default=1, help="one in so many arrivals only")
    parser.add_argument("--raw", type=int, default=2_000, help="Workloads of the raw rates")
    parser.add_argument("--gogc", default="", help="how lazily Go collects; as it comes: 100")
    parser.add_argument("--timeout-s", type=float, default=1_800.0, help="then it is cut short")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
