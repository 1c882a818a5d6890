"""Live through many worlds: ``python -m tests.simulation --seeds 500 --first 0``.

Each world is one seed; the first that does not hold ends the run with what it violated, unless
``--go-on`` is said, and the same seed gives the same world again. ``--find`` lives through the
worlds of some seeds and prints the first that does not hold, with the rule that it breaks:
``tests.simulation.bugs`` asks so.
``--minutes`` bounds the time; 0 does not.
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.simulation.judging.judge import Outcome, judge
from tests.simulation.judging.verdict import demand, first_of, rule_of

SEED_S_MAX = 60.0
"""CPU time after which a world counts as one that never ends."""
AGAIN_S = 1.0
"""CPU time after which it is ended again: a service may catch what ends it."""


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
    parser.add_argument("--go-on", action="store_true", help="also behind one that does not hold")
    parser.add_argument("--find", type=int, nargs="+", default=[], help="seeds to look through")
    wanted = parser.parse_args()
    seeds = range(wanted.first, wanted.first + wanted.seeds)
    until_s = time.monotonic() + 60 * wanted.minutes if wanted.minutes else float("inf")
    return _find(wanted.find) if wanted.find else _hold(seeds, until_s, go_on=wanted.go_on)


def _hold(seeds: range, until_s: float, *, go_on: bool) -> int:
    signal.signal(signal.SIGPROF, _go_round_in_circles)
    held, lived, struck = 0, 0, Counter[str]()
    for seed in _in_time(seeds, until_s):
        began_s, lived = time.monotonic(), lived + 1
        try:
            outcome = _bounded(seed)
        except Exception:  # noqa: BLE001 - whatever a world ends with
            traceback.print_exc()
            _say(f"seed {seed} does not hold; see it again: --first {seed} --seeds 1\n")
            if not go_on:
                return 1
            continue
        held += 1
        struck += outcome.struck
        _say(
            f"seed {seed}: {outcome.entries} entries in {outcome.ledgers} ledger(s), "
            f"{outcome.starts} starts, {outcome.deaths} deaths, {outcome.faults} faults, "
            f"{outcome.lasted_s:.0f} s lived in {time.monotonic() - began_s:.1f} s, "
            f"head {outcome.hash[:16]}\n"
        )
    _say(f"{lived} of {len(seeds)} worlds lived, and {held} held\n")
    _say("".join(f"{count:8} {fault}\n" for fault, count in struck.most_common()))
    return 0 if held == lived else 1


def _find(seeds: Sequence[int]) -> int:
    signal.signal(signal.SIGPROF, _go_round_in_circles)
    for seed in seeds:
        try:
            _bounded(seed)
        except BaseException as error:  # noqa: BLE001 - whatever a bug does is a find
            first = first_of(error)
            why = (str(first).removeprefix(f"{rule_of(error)}: ").splitlines() or [""])[0]
            _say(f"{seed} {rule_of(error)} {why or type(first).__name__}\n")
            break
    return 0


def _bounded(seed: int) -> Outcome:
    """Judge a world that has to end within its CPU time, whatever a service catches."""
    signal.setitimer(signal.ITIMER_PROF, SEED_S_MAX, AGAIN_S)
    try:
        return judge(seed)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _go_round_in_circles(_number: int, _frame: object) -> None:
    demand(holds=False, rule="rest", text="the world goes round in circles")


def _in_time(seeds: range, until_s: float) -> Iterator[int]:
    return (seed for seed in seeds if time.monotonic() < until_s)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
