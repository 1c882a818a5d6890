"""Put each bug in and look for it: ``python -m tests.simulation.bugs [--seeds 30] [PATCH ...]``.

Each ``*.patch`` of this folder is a bug, and so is any other that is named or put there. The seed
or the test that is known comes first. Ends with 1 if one was not found, or does not fit the code
any more.
``--write`` writes down what was found, in the patches and in docs/simulation.md.
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from tests.simulation.bugs.hunt import found_by_test, hunt
from tests.simulation.bugs.page import write_page
from tests.simulation.bugs.patches import FOLDER, Bug, every_bug, note, read_bug

SEEDS = 30
TRIED_FIRST = (5, 3, 7, 4, 11, 14, 1, 2, 6, 8, 15, 18)
"""In these worlds most happens."""


def main() -> int:
    """Read the command line; return 1 if a bug was not found."""
    parser = ArgumentParser(
        prog="python -m tests.simulation.bugs",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("patches", nargs="*", help="names or files (all of the folder)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"worlds tried ({SEEDS})")
    parser.add_argument("--known", action="store_true", help="try the known seed or test alone")
    parser.add_argument(
        "--new", action="store_true", help="only those that nothing is known to find"
    )
    parser.add_argument("--write", action="store_true", help="write down what was found")
    wanted = parser.parse_args()
    bugs = [_named(path) for path in wanted.patches] or every_bug()
    missed = 0
    for bug in bugs:
        is_known = bug.seed is not None or bool(bug.test)
        if wanted.known and not is_known:
            _say(f"{bug.name}: NO SEED IS KNOWN")
        elif not (wanted.new and is_known):
            missed += not _try(bug, 0 if wanted.known else wanted.seeds, write=wanted.write)
    if wanted.write:
        write_page(every_bug())
    sys.stdout.write(f"{missed} not found\n")
    return 1 if missed else 0


def _try(bug: Bug, seeds: int, *, write: bool) -> bool:
    first = [] if bug.seed is None else [bug.seed]
    try:
        if bug.test and found_by_test(bug):
            _say(f"{bug.name}: {bug.test}")
            return True
        order = dict.fromkeys([*first, *TRIED_FIRST, *range(seeds)])
        match = hunt(bug, [seed for seed in order if seed in first or seed < seeds])
    except subprocess.CalledProcessError as error:
        line = (error.stderr.splitlines() or [str(error)])[-1]
        _say(f"{bug.name}: DOES NOT FIT: {line}")
        return False
    if match is None:
        _say(f"{bug.name}: NOT FOUND")
        return False
    _say(f"{bug.name}: seed {match.seed}, {match.rule}: {match.why[:160]}")
    if write:
        note(bug, match.seed, match.rule)
    return True


def _named(text: str) -> Bug:
    file = Path(text)
    return read_bug(file if file.exists() else FOLDER / f"{text}.patch")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
