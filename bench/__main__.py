"""Measure what is kept and compare: ``make bench`` or ``python -m bench [--only NAME] [--keep]``.

Every measurement runs three times. The median of each outcome, as a ratio to a raw rate of the same
run, is compared with the kept table, bench/guard/kept.json. Exit code 0: nothing lost more than
20 %; 1: something did, and it is said which and by how much; 2: something could not be measured.
"""

from __future__ import annotations

import os
import platform
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.guard import kept
from bench.guard.guarded import BENCHMARKS, Run, UnmeasuredError
from bench.guard.kept import Sample, Table

EXAMPLES = """examples:
  python -m bench                             everything, about ten minutes
  python -m bench --only core --only ledger   without a control plane, half a minute
  python -m bench --keep                      keep this run's table, for a reason: say it in
                                              docs/performance.md
"""


def main(arguments: Sequence[str], benchmarks: Mapping[str, Run] = BENCHMARKS) -> int:
    """Measure, compare, print, and return the exit code."""
    options = _parser(benchmarks).parse_args(arguments)
    now = dict[str, Sample]()
    for name in options.only or benchmarks:
        try:
            now |= _measure(name, benchmarks[name], options.runs)
        except UnmeasuredError as error:
            print(f"{name}: not measured: {error}", file=sys.stderr)
            return 2
    verdicts = kept.compare(now, kept.read(options.table))
    print("\n".join(kept.report(verdicts)))
    if options.keep:
        kept.write(_table(now), options.table)
        return 0
    return int(any(verdict.failed for verdict in verdicts))


def _measure(name: str, run: Run, runs: int) -> Mapping[str, Sample]:
    sampleses = list[Mapping[str, Sample]]()
    for number in range(1, runs + 1):
        print(f"{name}: run {number} of {runs}", file=sys.stderr, flush=True)
        sampleses.append(run())
        ratios = ", ".join(f"{key} {sample.ratio:.4g}" for key, sample in sampleses[-1].items())
        print(f"{name}: run {number} gave {ratios}", file=sys.stderr, flush=True)
    return kept.median_run(sampleses)


def _table(now: Mapping[str, Sample]) -> Table:
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    return Table(date=datetime.now(UTC).date().isoformat(), machine=machine, outcomes=dict(now))


def _parser(benchmarks: Mapping[str, Run]) -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", action="append", choices=tuple(benchmarks), help="may be given again"
    )
    parser.add_argument("--keep", action="store_true", help="write the table instead of failing")
    parser.add_argument(
        "--runs", type=int, default=3, help="of each measurement; its median counts"
    )
    parser.add_argument("--table", type=Path, default=kept.PATH, help="another kept table")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
