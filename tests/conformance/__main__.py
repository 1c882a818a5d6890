"""Put recorded decisions of Kueue to the core: ``python -m tests.conformance [DIR]``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.conformance.cases import DATA, Case, suites
from tests.conformance.report import Outcome, tell
from tests.conformance.suites.registry import judge


def main(arguments: Sequence[str]) -> int:
    """Run the cases that are asked for; return 1 if one failed, else 0."""
    asked = _parser().parse_args(arguments)
    outcomes = []
    for name, cases in suites(asked.folder):
        wanted = [case for case in cases if _wanted(case, asked)]
        if wanted:
            outcomes.append(judge(name, asked.mode).judge(name, wanted))
            _write(outcomes[-1].lines())
    _write(tell(outcomes, verbose=asked.verbose))
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def failures(outcome: Outcome) -> str:
    """Return what failed in a suite as text, for an assertion's message."""
    return "\n".join(tell([outcome], verbose=False))


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="SUITE/CASE.json")
    parser.add_argument("--suite", action="append", help="only this suite (may be repeated)")
    parser.add_argument("--case", action="append", help="only this case, e.g. schedule/001")
    parser.add_argument("--verbose", action="store_true", help="show every difference")
    parser.add_argument("--mode", choices=("kueue", "tidegate"), default="kueue")
    return parser


def _wanted(case: Case, asked: Namespace) -> bool:
    return (not asked.suite or case.suite in asked.suite) and (
        not asked.case or case.id in asked.case
    )


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
