"""Measure the pipeline's own cost: ``python -m bench.pipeline [--rates 5,50,500,0]``.

The three services as they are deployed, NATS and the ledger; a stub in this process stands for the
Kubernetes API server. It plays the watches of Jobs whose controller works at once, answers every
request, and costs no service anything. Each rate is Jobs a second that come at random; 0 is
saturation: a next Job comes whenever fewer than 800 are under way. A Job is done when its Workload
says Finished: that is a calm write, of which the actuator makes 50 a second unless ``--projections-
per-s`` says more. ``--workloads`` plays Workloads that no Job stands behind in place of Jobs, as
``bench.cluster --config runner``. ``--ledger postgresql`` brings up a server of its own, with every
commit on disk. ``--partitions 1,2,4`` plays saturation on an instance with so many schedulers and
actuators, one ingest, and queues spread evenly. Turns are commits; fsyncs, and the millions of
instructions that a process runs for a Job, are counted where ``perf`` may be used.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec
import yaml

from bench.guard.guarded import loops_per_s
from bench.histories.databases import postgresql
from bench.pipeline import partitions, stages
from bench.pipeline.counters import count, processes
from bench.pipeline.figures import Phase, Played, lines, phase
from bench.pipeline.perf import FSYNCS, INSTRUCTIONS, Counting
from bench.pipeline.player import Player
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.service.loop import loop_factory

SECONDS = 10.0
SATURATED_JOBS = 4_000
QUEUES = 30
LEDGERS = "postgresql, or a URL; else SQLite in a file"
EXAMPLES = "python -m bench.pipeline --rates 50,0 --ledger postgresql"


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return 0."""
    options = _parser().parse_args(arguments)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        phases = runner.run(measure_all(options))
    print("\n".join([*lines(phases), *partitions.lines(phases, options.partitions)]))
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(phases)) + b"\n")
    return 0


async def measure_all(options: Namespace) -> list[Phase]:
    """Run every rate on one instance, or saturation on one for each number of partitions."""
    if not options.partitions:
        return await measure(options, 1, options.rates)
    return [phase for count in options.partitions for phase in await measure(options, count, [0.0])]


async def measure(options: Namespace, count: int, rates: Sequence[float]) -> list[Phase]:
    """Run every rate on one instance with so many partitions, one after another."""
    queues = partitions.QUEUES if options.partitions else QUEUES
    player = Player(queues, Random(options.seed), count, options.workloads)
    gc.freeze()
    if options.projections_per_s:
        os.environ["TIDEGATE_PROJECTIONS_PER_S"] = (
            f"{options.projections_per_s:g}"  # for the actuator
        )
    with (
        tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder,
        _ledger(options.ledger) as ledger,
    ):
        async with player.stub.serve() as url:
            settings = RunOptions(
                state=Path(folder) / "instance",
                kubeconfig=kubeconfig_of(Path(folder), url),
                ledger=ledger,
            )
            async with (
                run_services(settings, _print_progress) as running,
                partitions.run_partitions(running, count),
            ):
                await player.play("warm", 50, 0.0)
                return [await _phase(player, rate, options, running) for rate in rates]


async def _phase(
    player: Player, rate: float, options: Namespace, running: RunningServices
) -> Phase:
    name = f"{rate:g}/s" if rate else "saturation"
    if options.partitions:
        name = f"{player.partitions} partitions"
    jobs = max(int(rate * options.seconds), 20) if rate else options.jobs
    _print_progress(f"{name}: {jobs} Jobs")
    since = await stages.newest_positions(running.nats_url, player.partitions)
    pids = {part: [process.pid for process in them] for part, them in processes().items()}
    before = await count(running.health["scheduler"], begins=True)
    counting = await Counting.start(pids)
    player.stub.requests.clear()
    wall_s = await player.play(f"job-{name.partition('/')[0].replace(' ', '-')}", jobs, rate)
    counts = await counting.stop()
    took = (await count(running.health["scheduler"])).since(before)
    await stages.record_stages(running.nats_url, since, player.courses)
    _print_progress(
        f"{name}: " + ", ".join(f"{n / jobs:.2f} {counter}" for counter, n in _top_requests(player))
    )
    return phase(
        Played(
            name=name,
            wall_s=wall_s,
            loops_per_s=loops_per_s(),
            took=took,
            courses=list(player.courses.values()),
            requests=player.stub.requests.total(),
            fsyncs=counts.get(FSYNCS, {}),
            instructions=counts.get(INSTRUCTIONS, {}),
        )
    )


@contextmanager
def _ledger(database: str) -> Generator[str]:
    """Lend the URL of the ledger that was asked for; empty: SQLite in the instance's folder."""
    if database != "postgresql":
        yield database
        return
    with postgresql() as url:
        if url is None:
            raise SystemExit("There is no PostgreSQL: put initdb and postgres on the PATH.")
        yield url


def _top_requests(player: Player) -> list[tuple[str, int]]:
    return player.stub.requests.most_common(8)


def kubeconfig_of(folder: Path, url: str) -> Path:
    """Write a kubeconfig for the stub; return where."""
    path = folder / "kubeconfig"
    configuration = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "stub",
        "clusters": [{"name": "stub", "cluster": {"server": url}}],
        "users": [{"name": "stub", "user": {}}],
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
    }
    path.write_text(yaml.safe_dump(configuration))
    return path


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _rates(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m bench.pipeline", description=__doc__, epilog=f"example: {EXAMPLES}"
    )
    parser.add_argument("--rates", type=_rates, default=[5.0, 50.0, 500.0, 0.0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each rate")
    parser.add_argument("--jobs", type=int, default=SATURATED_JOBS, help="at saturation")
    parser.add_argument(
        "--partitions", type=_numbers, default=[], help="so many, one after another: 1,2,4"
    )
    parser.add_argument("--workloads", action="store_true", help="in place of Jobs")
    parser.add_argument("--ledger", default="", help=LEDGERS)
    parser.add_argument(
        "--projections-per-s", type=float, default=0.0, help="calm writes a second; 0: as shipped"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the arrivals")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
