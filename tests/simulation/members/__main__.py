"""Live through worlds with member clusters: ``python -m tests.simulation.members --seeds N``."""

from __future__ import annotations

import sys
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Sequence

import structlog

from tests.simulation.judging.judge import LOUD
from tests.simulation.judging.verdict import OBJECTIONS
from tests.simulation.loop import run_seeded
from tests.simulation.members.site import Site


def live(seed: int) -> Site:
    """Live through the world of a seed; raise what anybody objected to."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(LOUD))

    OBJECTIONS.clear()

    async def run() -> Site:
        site = Site(seed)
        await site.run()
        return site

    return run_seeded(run())


def main(arguments: Sequence[str]) -> int:
    """Live through worlds one after another; return 1 if one does not hold."""
    parser = ArgumentParser(prog="python -m tests.simulation.members", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args(arguments)
    broken = list[int]()
    for seed in range(asked.first, asked.first + asked.seeds):
        began_s = time.monotonic()
        try:
            site = live(seed)
        except Exception:  # noqa: BLE001 - whatever a world ends with
            traceback.print_exc()
            broken.append(seed)
            continue
        _say(
            f"seed {seed}: {len(site.ledger.entries)} entries, {site.silences} silences, "
            f"{site.highest}m at most, {site.deaths} deaths in {time.monotonic() - began_s:.1f} s"
        )
    _say(f"{asked.seeds - len(broken)} of {asked.seeds} worlds held; not {broken}")
    return 1 if broken else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
