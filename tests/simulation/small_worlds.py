"""Live through small worlds one after another: of topologies, of member clusters, of partitions."""

from __future__ import annotations

import sys
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import structlog

from tests.simulation.judging.judge import LOUD
from tests.simulation.judging.verdict import OBJECTIONS
from tests.simulation.loop import run_seeded


class World(Protocol):
    """A world of a seed."""

    async def run(self) -> None:
        """Live through it; raise what a judge objected to."""


W = TypeVar("W", bound=World)


def live(make: Callable[[int], W], seed: int) -> W:
    """Live through the world of a seed; raise what a judge objected to."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(LOUD))
    OBJECTIONS.clear()

    async def run() -> W:
        world = make(seed)
        await world.run()
        return world

    return run_seeded(run())


def live_all(
    arguments: Sequence[str],
    name: str,
    doc: str | None,
    make: Callable[[int], W],
    summary: Callable[[W], str],
) -> int:
    """Live through ``--seeds`` worlds from ``--first`` on; return 1 if one does not hold."""
    parser = ArgumentParser(prog=f"python -m {name}", description=doc)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(arguments)
    broken = list[int]()
    for seed in range(options.first, options.first + options.seeds):
        began_s = time.monotonic()
        try:
            world = live(make, seed)
        except Exception:  # noqa: BLE001 - whatever a world ends with
            traceback.print_exc()
            _say(f"seed {seed} does not hold")
            broken.append(seed)
            continue
        _say(f"seed {seed}: {summary(world)} in {time.monotonic() - began_s:.1f} s")
    _say(f"{options.seeds - len(broken)} of {options.seeds} worlds held; not {broken}")
    return 1 if broken else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
