"""Measure the pipeline's own cost: ``python -m bench.pipeline [--rates 5,50,500,0]``.

The three services as they are deployed, NATS and the ledger; a stub in this process stands for the
Kubernetes API server. It plays the watches of Jobs whose controller works at once, answers every
request, and costs no service anything. Each rate is Jobs a second that come at random; 0 is
saturation: a next Job comes whenever fewer than 800 are under way. A Job is done when its Workload
says Finished.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import yaml

from bench.pipeline.counters import count
from bench.pipeline.figures import Phase, lines, phase
from bench.pipeline.player import Player
from tidegate.cluster.running import Running, Wanted, run_services
from tidegate.service.loop import loop_factory

SECONDS = 10.0
SATURATED_JOBS = 4_000
QUEUES = 30
EXAMPLES = "python -m bench.pipeline --rates 50,0 --ledger postgresql+psycopg://user@host/db"


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return 0."""
    asked = _parser().parse_args(arguments)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        phases = runner.run(measure(asked))
    print("\n".join(lines(phases)))
    if asked.json:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(phases)) + b"\n")
    return 0


async def measure(asked: Namespace) -> list[Phase]:
    """Run every rate on one instance, one after another."""
    player = Player(QUEUES, Random(asked.seed))
    gc.freeze()
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        async with player.stub.served() as url:
            wanted = Wanted(
                state=Path(folder) / "instance",
                kubeconfig=kubeconfig_of(Path(folder), url),
                ledger=asked.ledger,
            )
            async with run_services(wanted, _tell) as running:
                await player.play("warm", 50, 0.0)
                return [await _phase(player, rate, asked, running) for rate in asked.rates]


async def _phase(player: Player, rate: float, asked: Namespace, running: Running) -> Phase:
    name = f"{rate:g}/s" if rate else "saturation"
    jobs = max(int(rate * asked.seconds), 20) if rate else asked.jobs
    _tell(f"{name}: {jobs} Jobs")
    before = await count(running.health["scheduler"])
    player.stub.requests.clear()
    wall_s = await player.play(f"job-{name.partition('/')[0]}", jobs, rate)
    took = (await count(running.health["scheduler"])).since(before)
    requests = player.stub.requests.total()
    _tell(f"{name}: " + ", ".join(f"{n / jobs:.2f} {one}" for one, n in _most(player)))
    return phase(name, wall_s, took, list(player.courses.values()), requests)


def _most(player: Player) -> list[tuple[str, int]]:
    return player.stub.requests.most_common(8)


def kubeconfig_of(folder: Path, url: str) -> Path:
    """Write a kubeconfig for the stub; return where."""
    path = folder / "kubeconfig"
    found = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "stub",
        "clusters": [{"name": "stub", "cluster": {"server": url}}],
        "users": [{"name": "stub", "user": {}}],
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
    }
    path.write_text(yaml.safe_dump(found))
    return path


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _rates(text: str) -> list[float]:
    return [float(one) for one in text.split(",")]


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m bench.pipeline", description=__doc__, epilog=f"example: {EXAMPLES}"
    )
    parser.add_argument("--rates", type=_rates, default=[5.0, 50.0, 500.0, 0.0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each rate")
    parser.add_argument("--jobs", type=int, default=SATURATED_JOBS, help="at saturation")
    parser.add_argument("--ledger", default="", help="URL of the ledger; SQLite in a file")
    parser.add_argument("--seed", type=int, default=1, help="of the arrivals")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
