"""Put recorded scenarios of Kueue to the core: ``python -m tests.differential [DIR]``.

``--random N`` puts N scenarios of our own to it instead, each from the seed after the one before.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.conformance.report import Outcome, tell
from tests.differential.judge import judge, levels_missed
from tests.differential.random_scenarios import try_seeds
from tests.differential.scenarios import DATA, Scenario, classes


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for; return 1 if something failed, else 0."""
    asked = _parser().parse_args(arguments)
    if asked.random:
        outcomes = [try_seeds(asked.seed, asked.random, asked.mode or "tidegate", _progress)]
    else:
        outcomes = list(_recorded(asked))
    for outcome in outcomes if asked.random else ():
        _write(outcome.lines())
    _write(levels_missed(outcomes))
    _write(tell(outcomes, verbose=asked.verbose))
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def _recorded(asked: Namespace) -> Iterator[Outcome]:
    for name, scenarios in classes(asked.folder):
        wanted = [scenario for scenario in scenarios if _wanted(scenario, name, asked)]
        if wanted:
            outcome = judge(asked.mode).judge(name, wanted)
            _write(outcome.lines())
            yield outcome


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="CLASS/SCENARIO.json")
    parser.add_argument("--suite", action="append", help="only this class (may be repeated)")
    parser.add_argument("--case", action="append", help="only this scenario, e.g. mixed/001")
    parser.add_argument("--verbose", action="store_true", help="show every difference")
    parser.add_argument(
        "--mode",
        choices=("kueue", "tidegate"),
        help="whose rules; default: kueue's, but a step that Kueue never ends is played by ours",
    )
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random scenarios")
    parser.add_argument("--seed", type=int, default=0, help="the first random scenario's seed")
    return parser


def _wanted(scenario: Scenario, name: str, asked: Namespace) -> bool:
    return (not asked.suite or name in asked.suite) and (
        not asked.case or scenario.id in asked.case
    )


def _progress(done: int, count: int) -> None:
    sys.stderr.write(f"\r{done}/{count}" + ("\n" if done == count else ""))
    sys.stderr.flush()


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
