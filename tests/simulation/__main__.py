"""Live through many worlds: ``python -m tests.simulation --seeds 500 --first 0``.

Each world is one seed; the first that does not hold ends the run with what it violated, and the
same seed gives the same world again. ``--bugs`` puts each known bug in and looks for the first seed
that finds it. ``--minutes`` bounds the time; 0 does not.
"""

from __future__ import annotations

import sys
import time
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator

from tests.simulation.bugs.hunt import hunt
from tests.simulation.bugs.table import BUGS
from tests.simulation.judge import judge
from tidegate.errors import TidegateError


def main() -> int:
    """Read the command line; return 1 if a world did not hold, or a bug was not found."""
    parser = ArgumentParser(
        prog="python -m tests.simulation",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=100, help="how many worlds (100)")
    parser.add_argument("--first", type=int, default=0, help="the first one's seed (0)")
    parser.add_argument("--minutes", type=float, default=0, help="begin no world after these (0)")
    parser.add_argument("--bugs", action="store_true", help="put known bugs in, one at a time")
    wanted = parser.parse_args()
    seeds = range(wanted.first, wanted.first + wanted.seeds)
    until_s = time.monotonic() + 60 * wanted.minutes if wanted.minutes else float("inf")
    return _find(seeds, until_s) if wanted.bugs else _hold(seeds, until_s)


def _hold(seeds: range, until_s: float) -> int:
    held = 0
    for seed in _in_time(seeds, until_s):
        began_s = time.monotonic()
        try:
            found = judge(seed)
        except (AssertionError, TidegateError, BaseExceptionGroup):
            traceback.print_exc()
            _say(f"seed {seed} does not hold; see it again: --first {seed} --seeds 1\n")
            return 1
        held += 1
        _say(
            f"seed {seed}: {found.entries} entries in {found.ledgers} ledger(s), "
            f"{found.starts} starts, {found.deaths} deaths, {found.faults} faults, "
            f"{found.lasted_s:.0f} s lived in {time.monotonic() - began_s:.1f} s, "
            f"head {found.hash[:16]}\n"
        )
    _say(f"{held} of {len(seeds)} worlds lived, and all held\n")
    return 0


def _find(seeds: range, until_s: float) -> int:
    missed = 0
    for name, bug in BUGS.items():
        _say(f"{name}: ")
        found = hunt(bug, _in_time(seeds, until_s))
        _say(f"seed {found.seed}: {found.why}\n" if found else "not found\n")
        missed += found is None
    return 1 if missed else 0


def _in_time(seeds: range, until_s: float) -> Iterator[int]:
    return (seed for seed in seeds if time.monotonic() < until_s)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
